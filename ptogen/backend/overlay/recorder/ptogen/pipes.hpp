// SPDX-License-Identifier: Apache-2.0
// The pipe of each Op of Event<>: the facts of pto/common/event.hpp, pto-isa 3186c38.
#pragma once

#include <pto/common/event.hpp>

namespace ptogen {

// Only ops that do not run on PIPE_V are listed; a name that the headers at hand do not have is skipped.
template <typename Ops>
constexpr int ListedPipe(Ops op)
{
#define PTOGEN_PIPE(NAME, PIPE)                   \
    if constexpr (requires { Ops::NAME; }) {      \
        if (op == Ops::NAME) {                    \
            return PIPE;                          \
        }                                         \
    }
    PTOGEN_PIPE(TLOAD, PIPE_MTE2)
    PTOGEN_PIPE(TPREFETCH, PIPE_MTE2)
    PTOGEN_PIPE(TEXPANDS_MAT, PIPE_MTE2)
    PTOGEN_PIPE(TFILLPAD_MAT, PIPE_MTE2)
    PTOGEN_PIPE(MGATHER_MAT, PIPE_MTE2)
    PTOGEN_PIPE(TSTORE_VEC, PIPE_MTE3)
    PTOGEN_PIPE(TSTORE_MAT, PIPE_MTE3)
    PTOGEN_PIPE(TSTORE_ACC, PIPE_FIX)
    PTOGEN_PIPE(SCALAR, PIPE_S)
    PTOGEN_PIPE(TRESHAPE, PIPE_S)
    PTOGEN_PIPE(TCI, PIPE_S)
    PTOGEN_PIPE(SETFMATRIX, PIPE_S)
    PTOGEN_PIPE(SET_IMG2COL_RPT, PIPE_S)
    PTOGEN_PIPE(SET_IMG2COL_PADDING, PIPE_S)
    PTOGEN_PIPE(TMATMUL, PIPE_M)
    PTOGEN_PIPE(TGEMV, PIPE_M)
    PTOGEN_PIPE(TIMG2COL, PIPE_MTE1)
    PTOGEN_PIPE(TMOV_M2B, PIPE_MTE1)
    PTOGEN_PIPE(TMOV_M2L, PIPE_MTE1)
    PTOGEN_PIPE(TMOV_M2R, PIPE_MTE1)
    PTOGEN_PIPE(TEXTRACT_M2LR, PIPE_MTE1)
    PTOGEN_PIPE(TMOV_M2S, PIPE_FIX)
    PTOGEN_PIPE(TMOV_V2M, PIPE_FIX)
    PTOGEN_PIPE(TMOV_A2V, PIPE_FIX)
    PTOGEN_PIPE(TMOV_A2M, PIPE_FIX)
    PTOGEN_PIPE(TEXTRACT_V2M, PIPE_FIX)
    PTOGEN_PIPE(TEXTRACT_A2M, PIPE_FIX)
    PTOGEN_PIPE(TINSERT_A2M, PIPE_FIX)
#undef PTOGEN_PIPE
    return PIPE_V;
}

constexpr int PipeOf(pto::Op op) { return ListedPipe<pto::Op>(op); }

} // namespace ptogen
