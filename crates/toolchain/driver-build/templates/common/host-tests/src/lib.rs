//! The tests of {{package}} are in `tests`.
