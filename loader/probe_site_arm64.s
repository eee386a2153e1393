#include "textflag.h"

// A nop is a site that the kernel simulates and that needs nothing around it.

// func hitProbeSite()
TEXT ·hitProbeSite(SB), NOSPLIT|NOFRAME, $0-0
	NOOP
	RET

// func probeSiteAddress() uintptr
TEXT ·probeSiteAddress(SB), NOSPLIT, $0-8
	MOVD $·hitProbeSite(SB), R0
	MOVD R0, ret+0(FP)
	RET
