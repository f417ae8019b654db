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

// checkSubstitution checks the regexp field of a NAPTR (RFC 3402 §3.2): empty, or delimiter, POSIX extended regular
// expression, delimiter, replacement, delimiter, flags. Where implementations of POSIX differ it refuses.
func checkSubstitution(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	delimiter := text[0]
	if isDigit(delimiter) || delimiter == '\\' || delimiter == 'i' || delimiter == 0 {
		return errors.New("regexp begins with its delimiter, which is no digit, backslash or \"i\" (RFC 3402 §3.2); " +
			"write \"!expression!replacement!\"")
	}
	var parts [3][]byte // expression, replacement, flags
	part, reference := 0, 0
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == 0:
			return errors.New("regexp holds a zero octet; remove it")
		case c == delimiter:
			if part++; part == len(parts) {
				return errors.New("regexp has more than three delimiters (RFC 3402 §3.2); write \"!expression!replacement!\"")
			}
			continue
		case c == '\\' && part < 2:
			if i++; i == len(text) || text[i] == 0 {
				return errors.New("regexp ends in a backslash; remove it")
			}
			if part == 1 && isDigit(text[i]) {
				if text[i] == '0' {
					return errors.New("regexp refers to \\0; references are \\1 to \\9 (RFC 3402 §3.2)")
				}
				reference = max(reference, int(text[i]-'0'))
			}
			parts[part] = append(parts[part], c, text[i])
			continue
		}
		parts[part] = append(parts[part], c)
	}
	if part != 2 {
		return errors.New("regexp has less than three delimiters (RFC 3402 §3.2); write \"!expression!replacement!\"")
	}
	if strings.Trim(string(parts[2]), "i") != "" {
		return fmt.Errorf("regexp has flags %s; the only flag is \"i\" (RFC 3402 §3.2)", quote(string(parts[2])))
	}
	groups, err := checkExpression(string(parts[0]))
	if err != nil {
		return fmt.Errorf("regexp %s: %w", quote(string(parts[0])), err)
	}
	if reference > groups {
		return fmt.Errorf("regexp refers to \\%d and its expression has %d groups in parentheses; correct one of them", reference, groups)
	}
	return nil
}

// ereToken matches one part of an expression that all implementations read alike: an escaped character, a bracket
// expression without escapes, a repetition, or a character.
var ereToken = regexp.MustCompile(`^(?:\\[^0-9]|\[\^?\]?(?:\[:[a-z]+:\]|[^\]\\[])*\]|\{[0-9]{1,2}(?:,[0-9]{0,2})?\}|[^\]\[{}\\])`)

// checkExpression checks a POSIX extended regular expression, and returns how many groups it has.
func checkExpression(text string) (groups int, err error) {
	parsed, err := posix.Parse(text, posix.POSIX)
	if err != nil {
		return 0, fmt.Errorf("%w; correct it", err)
	}
	// What Go reads and others refuse: nothing before "|", ")" or the end, and a repetition of nothing.
	empty, repeatable := true, false
	for rest := text; rest != ""; {
		token := ereToken.FindString(rest)
		if token == "" {
			return 0, fmt.Errorf("%s is not read alike everywhere; write \\ before a character that stands for itself, "+
				"and characters, ranges such as a-z, or [:digit:] in brackets", quote(rest))
		}
		rest = rest[len(token):]
		switch token[0] {
		case '|', ')':
			if empty {
				return 0, errEmptyExpression
			}
			empty, repeatable = token == "|", token == ")"
		case '(':
			empty, repeatable = true, false
		case '*', '+', '?', '{':
			if !repeatable {
				return 0, fmt.Errorf("%s has nothing to repeat; write \\%c for the character", token, token[0])
			}
			repeatable = false
		default:
			empty, repeatable = false, token != "^" && token != "$"
		}
	}
	if empty {
		return 0, errEmptyExpression
	}
	return parsed.MaxCap(), nil
}

var errEmptyExpression = errors.New("an empty alternative or expression; write what it should match")
