#pragma once

// The reverse diagonal scan: Diagonal State Feedback's path through time (paper, eq. 13 with A
// diagonal)
//
//   g_t = e_t + a * g_{t+1},   g_T = e_T
//
// in place over a packed batch: on entry `g` [N, S] holds e, on return the total gradient; `a` [S].
// A sequence that ends at step t has no g_{t+1}. All forms agree to rounding:
//
//   serial    walks back through time; rows and columns split over threads; one pass over memory
//   blocked   chunks of time in parallel, each read twice but the second time from the cache; one
//             pass over memory
//   fft       correlation with the kernel 1, a, a^2, ..., zero-padded, one column at a time
//
// If a_j = 0, column j keeps its normal numbers to the bit (fft: all bits). Serial and blocked
// still compute e + 0 * g: there -0 may turn into +0, denormals are flushed, and an infinite or NaN
// g_{t+1} makes g_t NaN.

#include <span>

#include "dsf/base/buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"
#include "dsf/kernels/fft_convolution.h"

namespace dsf {

enum class ScanForm { automatic, serial, blocked, fft };

/// Memory of the blocked and FFT forms, kept from call to call. Owned by the caller.
struct ScanWorkspace {
  Buffer<float> carries;  ///< blocked: a to the power of a chunk's length, and g at chunks' starts
  Buffer<dim_t> handed_over;  ///< blocked: chunks that are ready for those before them
  Buffer<float> spectra;      ///< fft: signal and spectra of the columns being worked on
  RealFftCache transforms;
};

void reverse_scan_serial(const PackedLayout& layout, std::span<const float> a, MatrixF g);
void reverse_scan_blocked(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                          MatrixF g);
void reverse_scan_fft(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                      MatrixF g);

/// Numbers that the FFT form keeps in ScanWorkspace::spectra for `steps` steps of `columns` columns,
/// and the blocked form in ScanWorkspace::carries for `batch` sequences that have them all.
dim_t fft_scan_numbers(dim_t steps, dim_t columns);
dim_t blocked_scan_numbers(dim_t steps, dim_t batch, dim_t columns);
/// Of whichever form reverse_scan takes; at most, if some sequences are shorter.
dim_t scan_numbers(ScanForm form, dim_t steps, dim_t batch, dim_t columns);

/// `automatic` takes blocked if there are 256 steps or more and a step has too few elements for
/// eight tasks, else serial: by the shape alone, so that the result does not depend on the number of
/// threads.
void reverse_scan(ScanForm form, const PackedLayout& layout, std::span<const float> a,
                  ScanWorkspace& work, MatrixF g);

}  // namespace dsf
