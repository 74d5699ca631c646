#pragma once

namespace dsf {

/// The part D_t of a cell's Jacobian J_t = ds_t / ds_{t-1} by which each unit acts on itself: what
/// an elementwise recursion can follow, g_{t-1} += g_t D_t, without a matrix product.
///
///   gates     the paths around the recurrent matrices, J_t with U = 0:
///               gru   z
///               lstm  c_{t-1} -> c_t, h_t: f and f o (1 - tanh(c)^2); from h_{t-1} there is none
///             The rnn has no such path: there it is the diagonal, (1 - h^2) u_jj.
///   diagonal  J_t with each recurrent matrix replaced by its diagonal (the gates as they are): the
///             above, and what a unit sends to itself through its own recurrent weights. This is
///             all of J_t that joins a unit to itself, but for the GRU that resets before: there
///             paths out of a unit and back within one step are left out.
enum class OwnPath { gates, diagonal };

/// The rest of J_t beside OwnPath::gates, which needs a matrix product: J_t = D_t + R_t.
///
///   all        all of R_t
///   candidate  R_t with the gates held at their values: only the candidate (gru: n, lstm: m; the
///              rnn has nothing else) still depends on h_{t-1}, so one block of U in K is left
enum class RestPath { all, candidate };

}  // namespace dsf
