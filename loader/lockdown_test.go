package loader

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A kernel that is locked down for confidentiality cannot record, and says of programs only that they are wrong.
func TestLockedDownKernel(t *testing.T) {
	if err := explainKernelMemory(nil); err != nil {
		t.Errorf("where it is allowed: %v", err)
	}
	for _, refused := range []error{ebpf.ErrNotSupported, fmt.Errorf("load program: %w", unix.EINVAL)} {
		missing := Features{KernelMemory: explainKernelMemory(refused)}.Missing()
		if !errors.Is(missing, ErrPermission) || !strings.Contains(missing.Error(), "kernel lockdown (") || !strings.Contains(missing.Error(), "lockdown=integrity") {
			t.Errorf("where it is refused: %v", missing)
		}
	}
	if err := explainKernelMemory(unix.EPERM); !errors.Is(err, ErrPermission) || strings.Contains(err.Error(), "lockdown=integrity") {
		t.Errorf("without privileges: %v", err)
	}
}
