package view

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// reportShell is the page of a report without its answers.
type reportShell struct{ before, behind string }

// The places of the page that a report changes: it has no other files.
var (
	styleLink  = regexp.MustCompile(`<link\b[^>]*\bhref="(?:\./)?app\.css"[^>]*>`)
	scriptLink = regexp.MustCompile(`<script\b[^>]*\bsrc="(?:\./)?app\.js"[^>]*>\s*</script>`)
	headBegin  = regexp.MustCompile(`<head\b[^>]*>`)
)

// newReportShell puts the files of a page into one. The policy lets it run this script and use this style, and load and
// ask nothing.
func newReportShell(page fs.FS) (*reportShell, error) {
	files := make(map[string]string)
	for name := range pageFiles {
		content, err := fs.ReadFile(page, name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPage, err)
		}
		files[name] = string(content)
	}
	html, style, script := files["index.html"], files["app.css"], files["app.js"]
	for what, pattern := range map[string]*regexp.Regexp{"app.css": styleLink, "app.js": scriptLink, "<head>": headBegin} {
		if len(pattern.FindAllStringIndex(html, -1)) != 1 {
			return nil, fmt.Errorf("%w: index.html has not one place for %s", ErrPage, what)
		}
	}
	if strings.Contains(strings.ToLower(style), "</style") || strings.Contains(strings.ToLower(script), "</script") || strings.Contains(script, "<!--") {
		return nil, fmt.Errorf("%w: its files cannot be put into one", ErrPage)
	}
	policy := fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">`,
		hashOf(script), hashOf(style))
	head := headBegin.FindStringIndex(html)
	html = html[:head[1]] + policy + html[head[1]:]
	link := styleLink.FindStringIndex(html)
	html = html[:link[0]] + "<style>" + style + "</style>" + html[link[1]:]
	// The script comes last: it finds what the page has, and the answers.
	link = scriptLink.FindStringIndex(html)
	before, behind := html[:link[0]], html[link[1]:]
	body := strings.LastIndex(behind, "</body>")
	if body < 0 {
		return nil, fmt.Errorf("%w: index.html has no end behind app.js", ErrPage)
	}
	return &reportShell{
		before: before + behind[:body],
		behind: "<script>" + script + "</script>" + behind[body:],
	}, nil
}

// hashOf names a text in a policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// size is that of the page without its answers.
func (s *reportShell) size() int { return len(s.before) + len(s.behind) }

// with returns the page with its answers.
func (s *reportShell) with(answers string) string { return s.before + answers + s.behind }
