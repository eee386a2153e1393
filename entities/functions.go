package entities

import (
	"fmt"

	"github.com/ianlancetaylor/demangle"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The names of callbacks' functions. tracetools names a callback by the type of its functor, or by the function's name
// if that is a plain pointer; here the function that std::bind wraps counts, too, because the functors of different
// functions may have one type.

// Code tells what code lies at addresses of a process. A Memory may know that.
type Code interface {
	// FunctionAt returns the function that begins at an address, false if none is known to.
	FunctionAt(address uint64) (Function, bool)
	// PassedMember tells which member of its object the member function at an address passes to the function of a name.
	// The error says why its code does not tell.
	PassedMember(function uint64, callee string) (elffile.Member, error)
}

// Function is a function in the memory of a process.
type Function struct {
	Start, End uint64 // addresses
	Module     string // name of the file that holds it
	Offset     uint64 // address of the start in the file's own address space
	Names      []string
}

// Offsets in a std::function of libstdc++. Any callback of a subscription or service begins with one.
const (
	functionManager = 16
	functionInvoker = 24
)

// functorKind is how a functor leads to the function that runs.
type functorKind uint8

const (
	functorItself   functorKind = iota // a lambda or an object: its type names it
	functionPointer                    // void (*)()
	boundFunction                      // std::bind of a pointer to a function
	boundMember                        // std::bind of a pointer to a member function
	standardFunction
)

// functor is the type of a functor.
type functor struct {
	kind functorKind
	name string // demangled type
}

// functorOf analyses a type.
func functorOf(tree demangle.AST) functor {
	f := functor{name: demangle.ASTToString(tree, demangle.MaxLength(maxSymbolBits))}
	switch tree := tree.(type) {
	case *demangle.PointerType:
		if _, ok := tree.Base.(*demangle.FunctionType); ok {
			f.kind = functionPointer
		}
	case *demangle.Template:
		switch name := demangle.ASTToString(tree.Name); {
		case name == "std::function":
			f.kind = standardFunction
		case (name == "std::_Bind" || name == "std::_Bind_result") && len(tree.Args) > 0:
			bound, ok := tree.Args[len(tree.Args)-1].(*demangle.FunctionType)
			if !ok {
				break
			}
			switch target := bound.Return.(type) {
			case *demangle.PtrMem:
				f.kind = boundMember
			case *demangle.PointerType:
				if _, ok := target.Base.(*demangle.FunctionType); ok {
					f.kind = boundFunction
				}
			}
		}
	}
	return f
}

// parseType parses the mangled name of a type as type_info holds it.
func parseType(typeName string) (demangle.AST, bool) {
	tree, err := demangle.ToAST("_ZTS" + typeName)
	if err != nil {
		return nil, false
	}
	special, ok := tree.(*demangle.Special)
	if !ok {
		return nil, false
	}
	return special.Val, true
}

// typeSymbol returns the demangled name of a type, given as type_info holds it, "" if it is none.
func typeSymbol(typeName string) string {
	tree, ok := parseType(typeName)
	if !ok {
		return ""
	}
	return demangle.ASTToString(tree, demangle.MaxLength(maxSymbolBits))
}

// timerSymbol names the function of a timer's callback: the functor itself lies at the callback's address, and its type
// is the first template argument of the timer's class (rclcpp::WallTimer<F>). It is "" if that is no such class.
func (r reader) timerSymbol(callback trace.Address, typeName string) string {
	tree, ok := parseType(typeName)
	if !ok {
		return ""
	}
	class, ok := tree.(*demangle.Template)
	if !ok || len(class.Args) == 0 {
		return ""
	}
	argument := class.Args[0]
	if reference, ok := argument.(*demangle.ReferenceType); ok {
		argument = reference.Base
	}
	if _, ok := argument.(*demangle.FunctionType); ok {
		return r.namedAt(uint64(callback))
	}
	f := functorOf(argument)
	if f.kind == standardFunction {
		return r.functionSymbol(callback)
	}
	return r.functorSymbol(f, callback)
}

// functionSymbol names the function that a std::function runs, "" if it cannot be told.
func (r reader) functionSymbol(function trace.Address) string {
	if _, err := r.readable(); err != nil {
		return ""
	}
	code, ok := r.memory.(Code)
	if !ok {
		return ""
	}
	manager, err := r.word(function + functionManager)
	if err != nil || manager == 0 {
		return ""
	}
	body, ok := code.FunctionAt(manager)
	if !ok {
		return ""
	}
	typeName, ok := r.managedType(body)
	if !ok {
		return r.invokerSymbol(code, function)
	}
	tree, ok := parseType(typeName)
	if !ok {
		return r.invokerSymbol(code, function)
	}
	f := functorOf(tree)
	if f.kind == functorItself || f.kind == standardFunction {
		return f.name
	}
	// Small functors lie in the std::function itself, large ones where its first word points.
	for _, at := range []func() (trace.Address, error){
		func() (trace.Address, error) { return function, nil },
		func() (trace.Address, error) { return r.pointer(function) },
	} {
		if address, err := at(); err == nil {
			if name := r.functorSymbol(f, address); name != f.name {
				return name
			}
		}
	}
	return f.name
}

// invokerSymbol names what a std::function runs by the address of its own code.
func (r reader) invokerSymbol(code Code, function trace.Address) string {
	invoker, err := r.word(function + functionInvoker)
	if err != nil {
		return ""
	}
	body, ok := code.FunctionAt(invoker)
	if !ok {
		return ""
	}
	return body.place()
}

// functorSymbol names the function that a functor at an address runs; by the functor's type if that is all that can be
// told.
func (r reader) functorSymbol(f functor, address trace.Address) string {
	code, ok := r.memory.(Code)
	if !ok || f.kind == functorItself {
		return f.name
	}
	target, err := r.word(address)
	if err != nil {
		return f.name
	}
	if f.kind == boundMember {
		if target, err = r.memberFunction(address, target); err != nil {
			return f.name
		}
	}
	body, ok := code.FunctionAt(target)
	if !ok {
		return f.name
	}
	if name := body.name(); name != "" {
		return name
	}
	if f.kind == boundMember {
		return fmt.Sprintf("%s (%s)", f.name, body.place()) // the type tells at least the class
	}
	return body.place()
}

// namedAt names the function at an address.
func (r reader) namedAt(address uint64) string {
	code, ok := r.memory.(Code)
	if !ok {
		return ""
	}
	body, ok := code.FunctionAt(address)
	if !ok {
		return ""
	}
	if name := body.name(); name != "" {
		return name
	}
	return body.place()
}

// memberFunction returns the code that a pointer to a member function leads to. In a functor of std::bind, the pointer,
// of two words, precedes the object's address, as long as no other value is bound.
func (r reader) memberFunction(functor trace.Address, first uint64) (uint64, error) {
	second, err := r.word(functor + wordSize)
	if err != nil {
		return 0, err
	}
	virtual, offset, adjustment := r.virtualMember(first, second)
	if !virtual {
		return first, nil
	}
	object, err := r.pointer(functor + 2*wordSize)
	if err != nil {
		return 0, err
	}
	vtable, err := r.constant(object + trace.Address(adjustment))
	if err != nil {
		return 0, err
	}
	return r.word(vtable + trace.Address(offset))
}

// name returns the demangled name of the function, "" if the file has none.
func (f Function) name() string {
	if len(f.Names) == 0 {
		return ""
	}
	return elffile.Demangle(f.Names[0])
}

// place tells where the function is, for want of a name.
func (f Function) place() string { return fmt.Sprintf("%s+%#x", f.Module, f.Offset) }
