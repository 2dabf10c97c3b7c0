/* Names of the registration data in drivers, whose strings are always wide. */
#pragma once

#ifndef WDK_KIT_NO_TYPES
typedef WMIREGGUIDW WMIREGGUID, *PWMIREGGUID;
typedef WMIREGINFOW WMIREGINFO, *PWMIREGINFO;
#endif
