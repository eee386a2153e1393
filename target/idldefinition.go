package target

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// parseIDLDefinition reads the fields of the struct of a message type in an .idl file, in the part of OMG IDL that
// rosidl_parser accepts. As with parseMsgDefinition, errors hold nothing of the text.
func parseIDLDefinition(wanted messageType, text []byte) ([]messageField, error) {
	tokens, err := idlTokens(string(text))
	if err != nil {
		return nil, err
	}
	parser := idlParser{tokens: tokens, wanted: wanted, aliases: map[string]messageField{}}
	if err := parser.parse(); err != nil {
		return nil, fmt.Errorf("IDL: line %d: %w", parser.line, err)
	}
	if !parser.found {
		return nil, fmt.Errorf("IDL: no struct %s::%s::%s", wanted.pkg, wanted.namespace, wanted.name)
	}
	return parser.fields, nil
}

// idlToken is white space, a comment or an #include line to be skipped, or a token: a literal, a word or number, "::"
// or a character.
var idlToken = regexp.MustCompile(`^(?:(\s+|//[^\n]*|/\*(?s:.*?)\*/|#[^\n]*)|(L?"(?:[^"\\]|\\.)*"|L?'(?:[^'\\]|\\.[0-9A-Fa-f]*)'|[A-Za-z0-9_]+|::|[!$-&(-/:-@\[-^{-~]))`)

// positionedToken is a token and the line that it begins in, counted from 1.
type positionedToken struct {
	text string
	line int
}

func idlTokens(text string) ([]positionedToken, error) {
	var tokens []positionedToken
	for line := 1; len(text) > 0; {
		match := idlToken.FindStringSubmatch(text)
		if match == nil || match[2] == "/" && strings.HasPrefix(text, "/*") {
			return nil, fmt.Errorf("IDL: line %d: %w", line, errIDLSyntax)
		}
		if match[2] != "" {
			tokens = append(tokens, positionedToken{match[2], line})
		}
		line += strings.Count(match[0], "\n")
		text = text[len(match[0]):]
	}
	return tokens, nil
}

var errIDLSyntax = errors.New("syntax")

var idlIdentifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// idlBasicWords make up the names of the basic types, some of which have several words.
var idlBasicWords = []string{
	"unsigned", "short", "long", "float", "double", "char", "wchar", "boolean", "octet",
	"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
}

type idlParser struct {
	tokens []positionedToken
	line   int // of the last token taken
	wanted messageType
	module []string
	// aliases are the typedefs of the wanted type's module.
	aliases map[string]messageField
	fields  []messageField
	found   bool
}

func (p *idlParser) parse() error {
	for len(p.tokens) > 0 {
		switch word := p.next(); word {
		case "@":
			if err := p.skipAnnotation(); err != nil {
				return err
			}
		case "module":
			name := p.next()
			if !idlIdentifier.MatchString(name) || p.next() != "{" {
				return errIDLSyntax
			}
			p.module = append(p.module, name)
		case "}":
			if len(p.module) == 0 || p.next() != ";" {
				return errIDLSyntax
			}
			p.module = p.module[:len(p.module)-1]
		case "struct":
			if err := p.parseStruct(); err != nil {
				return err
			}
		case "typedef":
			declared, err := p.parseDeclaration()
			if err != nil {
				return err
			}
			for _, alias := range declared {
				if p.inWantedModule() {
					p.aliases[alias.name] = alias
				}
			}
		case "enum", "const":
			if err := p.skipTo(";"); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: not a definition", errIDLSyntax)
		}
	}
	if len(p.module) > 0 {
		return fmt.Errorf("%w: a module is not closed", errIDLSyntax)
	}
	return nil
}

// next takes a token; "" at the end.
func (p *idlParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens, p.line = p.tokens[1:], token.line
	return token.text
}

func (p *idlParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0].text
}

func (p *idlParser) inWantedModule() bool {
	return slices.Equal(p.module, []string{p.wanted.pkg, p.wanted.namespace})
}

// skipTo skips everything up to and including the token, which may be inside no brackets that are opened on the way.
func (p *idlParser) skipTo(end string) error {
	depth := 0
	for len(p.tokens) > 0 {
		token := p.next()
		switch {
		case token == end && depth == 0:
			return nil
		case token == "{", token == "(", token == "<" && end == ">":
			depth++
		case token == "}", token == ")", token == ">" && end == ">":
			depth--
		}
		if depth < 0 {
			break
		}
	}
	return fmt.Errorf("%w: no %q", errIDLSyntax, end)
}

// skipAnnotation skips what follows an @: a name and perhaps arguments.
func (p *idlParser) skipAnnotation() error {
	if _, err := p.scopedName(); err != nil {
		return err
	}
	if p.peek() == "(" {
		p.next()
		return p.skipTo(")")
	}
	return nil
}

// scopedName takes a name such as std_msgs::msg::Header.
func (p *idlParser) scopedName() (string, error) {
	var parts []string
	if p.peek() == "::" {
		p.next()
	}
	for {
		word := p.next()
		if !idlIdentifier.MatchString(word) {
			return "", fmt.Errorf("%w: not a name", errIDLSyntax)
		}
		parts = append(parts, word)
		if p.peek() != "::" {
			return strings.Join(parts, "::"), nil
		}
		p.next()
	}
}

func (p *idlParser) parseStruct() error {
	name := p.next()
	if p.peek() == ";" { // a forward declaration
		p.next()
		return nil
	}
	if p.next() != "{" {
		return errIDLSyntax
	}
	if name != p.wanted.name || !p.inWantedModule() {
		if err := p.skipTo("}"); err != nil {
			return err
		}
	} else {
		if p.found {
			return fmt.Errorf("%w: the struct twice", errIDLSyntax)
		}
		p.found = true
		for p.peek() != "}" {
			if p.peek() == "@" {
				p.next()
				if err := p.skipAnnotation(); err != nil {
					return err
				}
				continue
			}
			declared, err := p.parseDeclaration()
			if err != nil {
				return err
			}
			p.fields = append(p.fields, declared...)
		}
		p.next()
	}
	if p.next() != ";" {
		return errIDLSyntax
	}
	return nil
}

// parseDeclaration takes a type and the names that are declared to be of it, up to and including the semicolon.
func (p *idlParser) parseDeclaration() ([]messageField, error) {
	of, err := p.parseType()
	if err != nil {
		return nil, err
	}
	var declared []messageField
	for {
		one := of
		one.name = p.next()
		if !idlIdentifier.MatchString(one.name) {
			return nil, fmt.Errorf("%w: not a name", errIDLSyntax)
		}
		for p.peek() == "[" {
			p.next()
			if err := p.skipTo("]"); err != nil {
				return nil, err
			}
			one.isArray = true
		}
		declared = append(declared, one)
		switch p.next() {
		case ";":
			return declared, nil
		case ",":
		default:
			return nil, errIDLSyntax
		}
	}
}

// parseType takes a type; the result has no name.
func (p *idlParser) parseType() (messageField, error) {
	switch word := p.peek(); {
	case word == "sequence":
		p.next()
		if p.next() != "<" {
			return messageField{}, errIDLSyntax
		}
		return messageField{typeName: word, isArray: true}, p.skipTo(">")
	case word == "string", word == "wstring":
		p.next()
		if p.peek() == "<" {
			p.next()
			return messageField{typeName: word}, p.skipTo(">")
		}
		return messageField{typeName: word}, nil
	case slices.Contains(idlBasicWords, word):
		var words []string
		for slices.Contains(idlBasicWords, p.peek()) {
			words = append(words, p.next())
		}
		return messageField{typeName: strings.Join(words, " ")}, nil
	}
	name, err := p.scopedName()
	if err != nil {
		return messageField{}, err
	}
	if alias, found := p.aliases[name]; found {
		return messageField{typeName: alias.typeName, isArray: alias.isArray}, nil
	}
	parts := strings.Split(name, "::")
	switch {
	case len(parts) == 1:
		parts = []string{p.wanted.pkg, p.wanted.namespace, name}
	case len(parts) != 3:
		return messageField{typeName: name}, nil
	}
	if parts[1] != "msg" {
		return messageField{typeName: strings.Join(parts, "/")}, nil
	}
	return messageField{typeName: parts[0] + "/" + parts[2]}, nil
}
