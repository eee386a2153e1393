package elffile

import "errors"

// Errors that callers decide on. They are wrapped with the file's or symbol's name; compare with errors.Is.
var (
	// ErrNotELF: the file does not start with an ELF header.
	ErrNotELF = errors.New("not an ELF file")
	// ErrUnsupported: an ELF file of another class, byte order or machine than this package reads.
	ErrUnsupported = errors.New("unsupported ELF file")
	// ErrMalformed: a table of the file contradicts itself or ends early.
	ErrMalformed = errors.New("malformed ELF file")
	// ErrTooLarge: a table of the file claims more than this package is willing to read.
	ErrTooLarge = errors.New("ELF table too large")
	// ErrSymbolNotFound: no defined symbol of that name.
	ErrSymbolNotFound = errors.New("symbol not found")
	// ErrAmbiguousSymbol: several functions at different addresses have that name.
	ErrAmbiguousSymbol = errors.New("symbol is ambiguous")
	// ErrNotFunction: the symbol is data, or an indirect function whose code is chosen at load time.
	ErrNotFunction = errors.New("symbol is not a plain function")
	// ErrNotMapped: the address or offset is in no loadable (for code: executable) segment of the file.
	ErrNotMapped = errors.New("address is not in a loadable segment")
	// ErrNoBounds: neither unwind information nor a symbol size says where the function ends.
	ErrNoBounds = errors.New("function bounds are not known")
	// ErrNoSafeSite: no instruction at which a probe is safe is known in the function.
	ErrNoSafeSite = errors.New("no safe probe site")
	// ErrNotRelocated: no relocation makes the address hold a pointer into the file.
	ErrNotRelocated = errors.New("no pointer into the file")
	// ErrUnexpectedShape: the function's code is not as the search expects it.
	ErrUnexpectedShape = errors.New("function does not have the expected shape")
	// ErrRefused is what all errors of meters are: it says nothing of the file.
	ErrRefused = errors.New("refused by the meter")
)
