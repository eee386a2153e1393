package programs

import (
	"fmt"
	"strings"
)

// signature is what a callback is called with, and what it then does.
type signature struct {
	parameters []parameter
	// body are statements. They use the parameters and the variable self, the callback's entity.
	body string
	// moved: the callable is moved to where it stays, never copied.
	moved bool
}

type parameter struct{ kind, name string }

// list returns the parameters as a function declares them.
func (s signature) list() string {
	var texts []string
	for _, p := range s.parameters {
		texts = append(texts, strings.TrimSpace(p.kind+" "+p.name))
	}
	return strings.Join(texts, ", ")
}

func (s signature) types() string {
	var texts []string
	for _, p := range s.parameters {
		texts = append(texts, p.kind)
	}
	return strings.Join(texts, ", ")
}

// placeholders returns std::bind's, each after a comma.
func (s signature) placeholders() string {
	text := ""
	for i := range s.parameters {
		text += fmt.Sprintf(", std::placeholders::_%d", i+1)
	}
	return text
}

// held is something that a lambda captures by value, or a functor has as a member.
type held struct{ name, kind, value string }

// holdings are the sizes and alignments that decide where a callable lies in the object that has it.
var holdings = []held{
	{"1 byte", "Bytes<1>", "Bytes<1>{}"},
	{"2 bytes", "Bytes<2>", "Bytes<2>{}"},
	{"3 bytes", "Bytes<3>", "Bytes<3>{}"},
	{"a bool and a short", "BoolAndShort", "BoolAndShort{}"},
	{"4 bytes aligned to 4", "int", "4"},
	{"7 bytes", "Bytes<7>", "Bytes<7>{}"},
	{"8 bytes aligned to 8", "double", "8.0"},
	{"12 bytes aligned to 4", "std::array<int, 3>", "std::array<int, 3>{}"},
	{"16 bytes aligned to 16", "Aligned<16>", "Aligned<16>{}"},
	{"24 bytes", "Bytes<24>", "Bytes<24>{}"},
	{"64 bytes", "Bytes<64>", "Bytes<64>{}"},
	{"64 bytes aligned to 64", "Aligned<64>", "Aligned<64>{}"},
	{"128 bytes aligned to 128", "Aligned<128>", "Aligned<128>{}"},
	{"a string", "std::string", `std::string("a text that is too long for the string object itself")`},
	{"a shared pointer", "std::shared_ptr<int>", "std::make_shared<int>(1)"},
}

// callable returns an expression of a random form for a callback of an entity that is there from the beginning to the
// end. (rclcpp's templates take no function objects whose call operator is not const.)
func (g *generator) callable(id int, s signature) string {
	self := fmt.Sprintf("constexpr int self = %d; ", id)
	body := "{ " + self + s.body + " }"
	lambda := func(captures string) string { return fmt.Sprintf("[%s](%s) %s", captures, s.list(), body) }
	name := fmt.Sprintf("entity%d", id)
	switch form := g.IntN(17); form {
	case 0, 1:
		g.feature("callable: lambda that captures nothing")
		return lambda("")
	case 2, 3, 4:
		h := pick(g, holdings)
		g.feature("callable: lambda with " + h.name)
		return lambda("held = " + h.value)
	case 5:
		g.feature("callable: lambda with a reference")
		return lambda("&held = referred")
	case 6:
		g.feature("callable: lambda with a value and a reference")
		return lambda(fmt.Sprintf("held = %s, &other = referred", pick(g, holdings).value))
	case 7:
		if !s.moved {
			return g.callable(id, s)
		}
		g.feature("callable: lambda that cannot be copied")
		return lambda("held = std::make_unique<int>(1)")
	case 8:
		g.feature("callable: lambda with this")
		fmt.Fprintf(&g.definitions, "struct %s_Owner {\n  int value = 0;\n  auto callable() { return [this](%s) { value++; %s%s }; }\n};\n%s_Owner %s_owner;\n",
			name, s.list(), self, s.body, name, name)
		return name + "_owner.callable()"
	case 9:
		g.feature("callable: std::function of a lambda")
		return fmt.Sprintf("std::function<void(%s)>(%s)", s.types(), lambda(pick(g, []string{"", "held = Bytes<64>{}"})))
	case 10:
		g.feature("callable: function pointer")
		fmt.Fprintf(&g.definitions, "void %s_function(%s) %s\n", name, s.list(), body)
		return "&" + name + "_function"
	case 11, 12:
		g.feature("callable: std::bind of a method")
		constness := pick(g, []string{"", " const"})
		fmt.Fprintf(&g.definitions, "struct %s_Member {\n  void call(%s)%s %s\n};\n%s_Member %s_member;\n", name, s.list(), constness, body, name, name)
		return fmt.Sprintf("std::bind(&%s_Member::call, &%s_member%s)", name, name, s.placeholders())
	case 13:
		g.feature("callable: functor without members")
		return g.functor(name, "", "", s.list(), self+s.body)
	case 14:
		h := pick(g, holdings)
		g.feature("callable: functor with " + h.name)
		return g.functor(name, "", fmt.Sprintf("%s held = %s;", h.kind, h.value), s.list(), self+s.body)
	case 15:
		g.feature("callable: polymorphic functor")
		return g.functor(name, " final : Base", "int what() const override { return 2; }", s.list(), self+s.body)
	default:
		g.feature("callable: functor that was bound to a variable")
		fmt.Fprintf(&g.definitions, "auto %s_callable = %s;\n", name, g.functor(name, "", "Bytes<2> held;", s.list(), self+s.body))
		return name + "_callable"
	}
}

// functor defines a class and returns an expression that makes an object of it.
func (g *generator) functor(name, base, members, parameters, body string) string {
	fmt.Fprintf(&g.definitions, "struct %s_Functor%s {\n", name, base)
	if members != "" {
		fmt.Fprintf(&g.definitions, "  %s\n", members)
	}
	fmt.Fprintf(&g.definitions, "  void operator()(%s) const { %s }\n};\n", parameters, body)
	return name + "_Functor{}"
}

// passingCallable returns an expression for a callback of an entity that comes and goes: it captures which one it is.
func (g *generator) passingCallable(id int, s signature) string {
	body := "{ " + s.body + " }"
	switch g.IntN(4) {
	case 0:
		g.feature("callable: lambda of what comes and goes")
		return fmt.Sprintf("[self](%s) %s", s.list(), body)
	case 1:
		h := pick(g, holdings)
		g.feature("callable: lambda of what comes and goes with more")
		return fmt.Sprintf("[self, held = %s](%s) %s", h.value, s.list(), body)
	case 2:
		g.feature("callable: std::function of what comes and goes")
		return fmt.Sprintf("std::function<void(%s)>([self](%s) %s)", s.types(), s.list(), body)
	default:
		g.feature("callable: functor of what comes and goes")
		fmt.Fprintf(&g.definitions, "struct entity%d_Functor {\n  int self;\n  void operator()(%s) const %s\n};\n", id, s.list(), body)
		return fmt.Sprintf("entity%d_Functor{self}", id)
	}
}
