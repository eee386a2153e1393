#include "textflag.h"

// A one-byte nop is a site that the kernel emulates and that needs nothing around it.

// func hitProbeSite()
TEXT ·hitProbeSite(SB), NOSPLIT, $0-0
	BYTE $0x90
	RET

// func probeSiteAddress() uintptr
TEXT ·probeSiteAddress(SB), NOSPLIT, $0-8
	LEAQ ·hitProbeSite(SB), AX
	MOVQ AX, ret+0(FP)
	RET
