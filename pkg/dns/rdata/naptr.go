// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// checkSubstitution returns an error for a regexp of NAPTR that is not "!expression!replacement!" with any delimiter
// (RFC 3402 §3.2), or that not every server reads. Empty is valid.
func checkSubstitution(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	delimiter := text[0]
	// As a delimiter, a digit would be a reference, and "i" a flag.
	if isDigit(delimiter) || delimiter == '\\' || delimiter == 'i' || delimiter == 0 {
		return errors.New("regexp begins with its delimiter, which is no digit, backslash or \"i\" (RFC 3402 §3.2); " +
			"write \"!expression!replacement!\"")
	}
	parts, reference, err := splitSubstitution(text)
	if err != nil {
		return err
	}
	if strings.Trim(string(parts[2]), "i") != "" {
		return fmt.Errorf("regexp has flags %s; the only flag is \"i\" (RFC 3402 §3.2)", quote(string(parts[2])))
	}
	e := expression{rest: string(parts[0])}
	if err := e.readAlternatives(0); err != nil {
		return fmt.Errorf("regexp %s: %w", quote(string(parts[0])), err)
	}
	if reference > e.groups {
		return fmt.Errorf("regexp refers to \\%d and its expression has %d groups in parentheses; correct one of them", reference, e.groups)
	}
	return nil
}

// splitSubstitution returns expression, replacement and flags of a regexp, with their escapes. reference is the
// greatest digit of \1 to \9 in the replacement, or 0.
func splitSubstitution(text []byte) (parts [3][]byte, reference int, err error) {
	part, delimiter := 0, text[0]
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == 0:
			return parts, 0, errors.New("regexp holds a zero octet; remove it")
		case c == delimiter:
			if part++; part == len(parts) {
				return parts, 0, errors.New("regexp has more than three delimiters (RFC 3402 §3.2); write \"!expression!replacement!\"")
			}
			continue
		case c == '\\' && part < 2:
			if i++; i == len(text) || text[i] == 0 {
				return parts, 0, errors.New("regexp ends in a backslash; remove it")
			}
			if part == 1 && isDigit(text[i]) {
				if text[i] == '0' {
					return parts, 0, errors.New("regexp refers to \\0; references are \\1 to \\9 (RFC 3402 §3.2)")
				}
				reference = max(reference, int(text[i]-'0'))
			}
			parts[part] = append(parts[part], c, text[i])
			continue
		}
		parts[part] = append(parts[part], c)
	}
	if part != 2 {
		return parts, 0, errors.New("regexp has less than three delimiters (RFC 3402 §3.2); write \"!expression!replacement!\"")
	}
	return parts, reference, nil
}

type expression struct {
	rest   string
	groups int
}

// readAlternatives reads sequences with "|" between them, up to ")" or the end. depth counts the open parentheses.
func (e *expression) readAlternatives(depth int) error {
	// The limit bounds the recursion.
	if depth > 20 {
		return errors.New("parentheses more than 20 deep; remove some")
	}
	for {
		if err := e.readSequence(depth); err != nil {
			return err
		}
		if !strings.HasPrefix(e.rest, "|") {
			break
		}
		e.rest = e.rest[1:]
	}
	if depth == 0 && e.rest != "" {
		return errors.New("a closing parenthesis without an opening one; write \\)")
	}
	return nil
}

// readSequence reads an alternative of a POSIX extended regular expression (RFC 3402 §3.2).
func (e *expression) readSequence(depth int) error {
	if e.endsSequence() {
		return errors.New("an empty alternative or expression; write what it should match")
	}
	for !e.endsSequence() {
		c := e.rest[0]
		e.rest = e.rest[1:]
		repeatable := true
		switch c {
		case '^', '$':
			// "^*" means different expressions to different libraries.
			repeatable = false
		case '*', '+', '?', '{', '}':
			return fmt.Errorf("%q has nothing to repeat; write \\%c for the character", c, c)
		case ']':
			return errors.New("a closing bracket without an opening one; write \\]")
		case '\\':
			// splitSubstitution has checked that a character follows.
			if isDigit(e.rest[0]) {
				return errors.New("a reference inside the expression; references belong to the replacement")
			}
			e.rest = e.rest[1:]
		case '(':
			e.groups++
			if err := e.readAlternatives(depth + 1); err != nil {
				return err
			}
			if !strings.HasPrefix(e.rest, ")") {
				return errors.New("a parenthesis is not closed; add )")
			}
			e.rest = e.rest[1:]
		case '[':
			if err := e.readBracket(); err != nil {
				return err
			}
		}
		if repeatable {
			if err := e.readRepetition(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *expression) endsSequence() bool { return e.rest == "" || e.rest[0] == '|' || e.rest[0] == ')' }

// readRepetition reads *, +, ? or {n,m}, or nothing.
func (e *expression) readRepetition() error {
	if e.rest == "" {
		return nil
	}
	switch e.rest[0] {
	case '*', '+', '?':
		e.rest = e.rest[1:]
	case '{':
		bounds, after, ok := strings.Cut(e.rest[1:], "}")
		least, most, ranged := strings.Cut(bounds, ",")
		low, err := strconv.ParseUint(least, 10, 8)
		high := low
		if ranged && most != "" && err == nil {
			high, err = strconv.ParseUint(most, 10, 8)
		}
		if !ok || err != nil || high < low {
			return errors.New("a repetition that is not {n}, {n,} or {n,m} with numbers up to 255")
		}
		e.rest = after
	}
	return nil
}

// readBracket reads a bracket expression behind "[". It refuses all that depends on the library or the locale.
func (e *expression) readBracket() error {
	bad := errors.New("a bracket expression that is not plain; write characters, ranges such as a-z, or [:digit:] in it, " +
		"and ] first or not at all")
	e.rest = strings.TrimPrefix(e.rest, "^")
	ranged := false
	for first := true; ; first = false {
		switch {
		case e.rest == "":
			return bad
		case e.rest[0] == ']' && !first:
			e.rest = e.rest[1:]
			return nil
		case e.rest[0] == '[':
			class, after, ok := strings.Cut(e.rest[1:], ":]")
			switch class {
			case ":alnum", ":alpha", ":blank", ":cntrl", ":digit", ":graph", ":lower", ":print", ":punct", ":space", ":upper", ":xdigit":
			default:
				ok = false
			}
			if !ok {
				return bad
			}
			e.rest = after
		case e.rest[0] == '\\':
			return bad // an escape for some implementations, a backslash for others
		case e.beginsRange():
			if !isPlainRange(e.rest[0], e.rest[2]) {
				return bad
			}
			e.rest, ranged = e.rest[3:], true
		case e.rest[0] == '-' && !first && (ranged || !strings.HasPrefix(e.rest, "-]")):
			return bad // undefined in POSIX, and partly rejected by BIND
		default:
			e.rest = e.rest[1:]
		}
	}
}

func (e *expression) beginsRange() bool {
	return len(e.rest) > 2 && e.rest[1] == '-' && e.rest[2] != ']'
}

// isPlainRange reports whether a range is of digits, or of letters in one case; others depend on the locale.
func isPlainRange(low, high byte) bool {
	in := func(from, to byte) bool { return from <= low && low <= high && high <= to }
	return in('0', '9') || in('a', 'z') || in('A', 'Z')
}
