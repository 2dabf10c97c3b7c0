/* Arguments of functions with an ellipsis. */
#pragma once

typedef __builtin_va_list va_list;
#define va_start(List, Last) __builtin_va_start(List, Last)
#define va_end(List) __builtin_va_end(List)
#define va_arg(List, Type) __builtin_va_arg(List, Type)
#define va_copy(To, From) __builtin_va_copy(To, From)
