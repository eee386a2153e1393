/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Arguments of a probed function, by calling convention (System V x86-64, AAPCS64).
 *
 * Both register layouts are kernel ABI (asm/ptrace.h), so no relocation is needed.
 */
#ifndef CARET_REGISTERS_H
#define CARET_REGISTERS_H

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
#define ARGUMENT_1(regs)    ((regs)->di)
#define ARGUMENT_2(regs)    ((regs)->si)
#define ARGUMENT_3(regs)    ((regs)->dx)
#define ARGUMENT_4(regs)    ((regs)->cx)
#define ARGUMENT_5(regs)    ((regs)->r8)
#define STACK_POINTER(regs) ((regs)->sp)
#define RETURN_VALUE(regs)  ((regs)->ax)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long regs[31];
	unsigned long sp, pc, pstate;
};
#define ARGUMENT_1(regs)    ((regs)->regs[0])
#define ARGUMENT_2(regs)    ((regs)->regs[1])
#define ARGUMENT_3(regs)    ((regs)->regs[2])
#define ARGUMENT_4(regs)    ((regs)->regs[3])
#define ARGUMENT_5(regs)    ((regs)->regs[4])
#define STACK_POINTER(regs) ((regs)->sp)
#define RETURN_VALUE(regs)  ((regs)->regs[0])
#else
#error "define __TARGET_ARCH_x86 or __TARGET_ARCH_arm64"
#endif

#endif
