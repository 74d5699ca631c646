#pragma once

#include "dsf/base/dim.h"

namespace dsf {

/// Numbers that the FFT form of the diagonal scan keeps in ScanWorkspace::spectra for `steps` steps
/// of `columns` columns.
dim_t fft_scan_numbers(dim_t steps, dim_t columns);

}  // namespace dsf
