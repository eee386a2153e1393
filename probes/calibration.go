package probes

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/usercache"
)

// Calibration is a measurement of what hits cost on a machine.
type Calibration struct {
	Machine
	MeasuredAt time.Time `json:"measured_at"`
	Costs      Costs     `json:"costs"`
}

// Machine is what the costs of hits depend on.
type Machine struct {
	// Kernel is the kernel's release.
	Kernel string `json:"kernel"`
	// CPU is the processor's model, as /proc/cpuinfo names it.
	CPU string `json:"cpu"`
}

// ErrCalibration is returned for a file that is no calibration, or one of another machine.
var ErrCalibration = errors.New("not a calibration of this machine")

// ThisMachine describes the running machine.
func ThisMachine() (Machine, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return Machine{}, fmt.Errorf("asking for the kernel's release: %w", err)
	}
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Machine{}, fmt.Errorf("asking for the processor's model: %w", err)
	}
	return Machine{Kernel: unix.ByteSliceToString(name.Release[:]), CPU: cpuModel(string(cpuinfo))}, nil
}

// cpuModel reads the model of the first processor in /proc/cpuinfo, on ARM64 as numbers; "" if it is not told.
func cpuModel(cpuinfo string) string {
	values := map[string]string{}
	for line := range strings.Lines(cpuinfo) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && values[name] == "" {
			values[name] = strings.TrimSpace(value)
		}
	}
	if model := values["model name"]; model != "" {
		return model
	}
	var parts []string
	for _, name := range []string{"CPU implementer", "CPU variant", "CPU part", "CPU revision"} {
		if values[name] != "" {
			parts = append(parts, values[name])
		}
	}
	return strings.Join(parts, " ")
}

// file is the name of the machine's calibration in a folder of several.
func (m Machine) file() string {
	sum := sha256.Sum256([]byte(m.Kernel + "\n" + m.CPU))
	return fmt.Sprintf("calibration-%x.json", sum[:8])
}

// Store keeps a calibration in a folder, which it makes if need be, and returns the file. Both are made by a user.
func (c *Calibration) Store(folder string, as *identity.Identity) (string, error) {
	path, err := usercache.Store(folder, c.file(), c, as)
	if err != nil {
		return "", fmt.Errorf("keeping the calibration: %w", err)
	}
	return path, nil
}

// LoadCalibration returns the calibration of a machine that was kept in a folder. The error is os.ErrNotExist if there
// is none, and ErrCalibration if what is there cannot be used, also if the user by whom it is read may not read it.
func LoadCalibration(folder string, machine Machine, as *identity.Identity) (*Calibration, error) {
	path := filepath.Join(folder, machine.file())
	text, err := usercache.Load(folder, machine.file(), maxFileBytes, as)
	if errors.Is(err, usercache.ErrForeign) {
		err = fmt.Errorf("%w: %w", ErrCalibration, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the calibration: %w", err)
	}
	calibration, err := decodeCalibration(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if calibration.Machine != machine {
		return nil, fmt.Errorf("%s: %w: it is of Linux %s on %s", path, ErrCalibration, calibration.Kernel, calibration.CPU)
	}
	return calibration, nil
}

// Bounds of what a calibration may say: a file that says more was not written by one.
const (
	maxFileBytes = 1 << 20

	maxKinds = 64
	maxCost  = 10 * time.Millisecond
)

func decodeCalibration(text []byte) (*Calibration, error) {
	c := new(Calibration)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCalibration, err)
	}
	if len(c.Costs.Instructions) > maxKinds || !plausible(c.Costs.Program) {
		return nil, fmt.Errorf("%w: implausible costs", ErrCalibration)
	}
	emulated, stepped := false, false
	for kind, cost := range c.Costs.Instructions {
		if cost == 0 || !plausible(cost) {
			return nil, fmt.Errorf("%w: %d ns for %.40q", ErrCalibration, cost, kind)
		}
		emulated, stepped = emulated || !isSteppedKind(kind), stepped || isSteppedKind(kind)
	}
	if !emulated || !stepped {
		return nil, fmt.Errorf("%w: a class of instructions is missing", ErrCalibration)
	}
	c.Costs.Measured = true
	return c, nil
}

func plausible(cost time.Duration) bool { return cost >= 0 && cost <= maxCost }
