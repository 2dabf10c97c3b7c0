/* General-purpose I/O. Empty, because no source of the kit has these declarations. It exists because wdk-sys also includes it for parallel ports. */
#pragma once
