/* Pins for general purposes. No source of the kit has what this header declares; wdk-sys includes it for parallel ports too. */
#pragma once
