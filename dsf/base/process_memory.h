#pragma once

// What this process and this machine have in memory, in bytes; 0 if the system does not say.

namespace dsf {

double resident_bytes();
/// Of it the program and its libraries, as far as they have been touched.
double resident_code_bytes();
/// The largest resident_bytes() so far, or since reset_peak_resident().
double peak_resident_bytes();
/// If the system does not allow it, peaks stay those of the whole process.
void reset_peak_resident();

/// Memory that can be had now without swapping.
double available_bytes();
double total_bytes();

}  // namespace dsf
