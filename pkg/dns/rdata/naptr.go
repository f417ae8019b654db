// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"errors"
	"fmt"
	"regexp"
	posix "regexp/syntax"
	"strings"
)

// checkSubstitution returns an error for a regexp of NAPTR that is not "!expression!replacement!" with any delimiter
// (RFC 3402 §3.2), or that not every server reads. Empty is valid.
func checkSubstitution(text string) error {
	if text == "" {
		return nil
	}
	if !delimiters.MatchString(text[:1]) {
		return errors.New("regexp begins with its delimiter, a printable character that is no digit, backslash or \"i\" " +
			"(RFC 3402 §3.2); write \"!expression!replacement!\"")
	}
	form := strings.ReplaceAll(`^!((?:[^!\\\x00]|\\[^\x00])*)!((?:[^!\\\x00]|\\[^0\x00])*)!i*$`, "!", fmt.Sprintf(`\x%02x`, text[0]))
	parts := regexp.MustCompile(form).FindStringSubmatch(text)
	if parts == nil {
		return errors.New("regexp has three delimiters, at most the flag \"i\", and references from \\1 to \\9 (RFC 3402 §3.2); " +
			"write \"!expression!replacement!\"")
	}
	groups, err := countGroups(parts[1])
	if err != nil {
		return err
	}
	for _, escape := range escapes.FindAllString(parts[2], -1) {
		if reference := int(escape[1]) - '0'; isDigit(escape[1]) && reference > groups {
			return fmt.Errorf("regexp refers to \\%d and its expression has %d groups in parentheses; correct one of them",
				reference, groups)
		}
	}
	return nil
}

var (
	// As a delimiter, a digit would be a reference, and "i" a flag.
	delimiters = regexp.MustCompile(`^[!-/:-\[\]-hj-~]$`)
	escapes    = regexp.MustCompile(`(?s)\\.`)
)

// countGroups returns the number of groups in a POSIX extended regular expression. An expression whose meaning depends
// on the library or the locale is an error. To follow the nesting, each group that has no group inside becomes "x".
func countGroups(expression string) (int, error) {
	reduced := atoms.ReplaceAllLiteralString(expression, "x")
	groups := strings.Count(reduced, "(")
	for innerGroup.MatchString(reduced) {
		reduced = innerGroup.ReplaceAllLiteralString(reduced, "x")
	}
	// Go's parser rejects [z-a] and a{2,1}.
	if _, err := posix.Parse(expression, posix.POSIX); err != nil || !wholeExpression.MatchString(reduced) {
		return 0, fmt.Errorf("regexp has the expression %s, which not every server reads; write alternatives that are not empty, of "+
			"characters, brackets as [a-z] or [[:digit:]], and closed groups, each with one of *, +, ? and {n,m} up to 255 at most",
			quote(expression))
	}
	return groups, nil
}

// The grammar of expressions. In a bracket, "]" is first, and "-" is first or last, because BIND rejects it elsewhere.
const (
	class        = `\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]`
	plainRange   = `[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]`
	bracket      = `\[\^?(?:[^\\^[]|` + plainRange + `|` + class + `)(?:[^]\\[-]|` + plainRange + `|` + class + `)*\]`
	bracketDash  = `\[\^?(?:[^\\^[-]|` + class + `)(?:[^]\\[-]|` + class + `)*-\]`
	number       = `(?:1?[0-9]?[0-9]|2[0-4][0-9]|25[0-5])`
	repetition   = `(?:[*+?]|\{` + number + `(?:,` + number + `?)?\})`
	sequence     = `(?:[^\\^$*+?{}()|[\]]` + repetition + `?|[\^$])+`
	alternatives = sequence + `(?:\|` + sequence + `)*`
)

var (
	atoms           = regexp.MustCompile(`\\[^0-9A-Za-z]|` + bracket + `|` + bracketDash)
	innerGroup      = regexp.MustCompile(`\(` + alternatives + `\)`)
	wholeExpression = regexp.MustCompile(`^` + alternatives + `$`)
)
