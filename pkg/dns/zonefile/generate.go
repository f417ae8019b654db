// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// readGenerated handles "$GENERATE start-stop[/step] owner [ttl] [class] type
// rdata", a BIND extension that files in the wild use.
func (f *file) readGenerated(text, rest string, line int, yield func(RR, error) bool) bool {
	refuse := func(err error) bool {
		return yield(RR{Line: line}, lineError(line, text, fmt.Errorf("$GENERATE: %w", err)))
	}
	span, template := cutField(rest)
	start, stop, step, err := parseRange(span)
	if err != nil {
		return refuse(err)
	}
	count := (stop-start)/step + 1
	if count > int64(max(f.generate, 0)) {
		return refuse(fmt.Errorf("%d records, %d are left of what a file may generate; write a smaller range", count, max(f.generate, 0)))
	}
	if template == "" || template[0] == '$' && strings.HasPrefix(strings.ToUpper(template), "$GENERATE") {
		return refuse(errors.New("a template is missing; write \"owner type rdata\" with $ where the number goes"))
	}
	f.generate -= int(count)
	for i := int64(0); i < count; i++ {
		record, err := expandTemplate(template, start+i*step)
		if err != nil {
			return refuse(err)
		}
		// Not f.line: an owner that begins with a number is no directive.
		rr, err := f.readRecord(record)
		if err != nil {
			// BIND reads the data as one token, so its manual quotes data of several fields: MX "0 .".
			if fields, data, ok := strings.Cut(strings.TrimSpace(record), `"`); ok && strings.Count(data, `"`) == 1 &&
				strings.HasSuffix(data, `"`) {
				if bare, bareErr := f.readRecord(fields + strings.TrimSuffix(data, `"`)); bareErr == nil {
					rr, err = bare, nil
				}
			}
		}
		rr.Line = line
		if err != nil {
			if !yield(RR{Line: line}, lineError(line, record, fmt.Errorf("$GENERATE: %w", err))) {
				return false
			}
			continue
		}
		if !yield(rr, nil) {
			return false
		}
	}
	return true
}

func parseRange(span string) (start, stop, step int64, err error) {
	const most = 1<<31 - 1
	bad := fmt.Errorf("range %s; write \"start-stop\" or \"start-stop/step\" with numbers from 0 to %d", strconv.QuoteToASCII(cut(span)),
		most)
	span, stepText, hasStep := strings.Cut(span, "/")
	startText, stopText, ok := strings.Cut(span, "-")
	if !ok {
		return 0, 0, 0, bad
	}
	step = 1
	for _, part := range []struct {
		text string
		to   *int64
		use  bool
	}{{startText, &start, true}, {stopText, &stop, true}, {stepText, &step, hasStep}} {
		if !part.use {
			continue
		}
		n, err := strconv.ParseUint(part.text, 10, 31)
		if err != nil {
			return 0, 0, 0, bad
		}
		*part.to = int64(n)
	}
	if stop < start || step < 1 {
		return 0, 0, 0, bad
	}
	return start, stop, step, nil
}

// expandTemplate replaces $ and ${offset[,width[,base]]} by the number; $$ and \$ are
// a dollar sign.
func expandTemplate(template string, number int64) (string, error) {
	var out strings.Builder
	for i := 0; i < len(template); i++ {
		c := template[i]
		switch {
		case c == '\\' && i+1 < len(template):
			i++
			if template[i] != '$' {
				out.WriteByte(c)
			}
			out.WriteByte(template[i])
		case c != '$':
			out.WriteByte(c)
		case strings.HasPrefix(template[i:], "$$"):
			out.WriteByte('$')
			i++
		case strings.HasPrefix(template[i:], "${"):
			end := strings.IndexByte(template[i:], '}')
			if end < 0 {
				return "", errors.New("${ is not closed; end it with }")
			}
			text, err := formatModified(template[i+2:i+end], number)
			if err != nil {
				return "", err
			}
			out.WriteString(text)
			i += end
		default:
			out.WriteString(strconv.FormatInt(number, 10))
		}
		if out.Len() > maxLine {
			return "", fmt.Errorf("a record of more than %d bytes; shorten the template", maxLine)
		}
	}
	return out.String(), nil
}

// formatModified formats number by "offset[,width[,base]]".
func formatModified(modifier string, number int64) (string, error) {
	bad := fmt.Errorf("modifier %s; write ${offset,width,base}, the width up to 100 and the base d, o, x, X, n or N",
		strconv.QuoteToASCII(cut(modifier)))
	parts := strings.Split(modifier, ",")
	if len(parts) > 3 {
		return "", bad
	}
	offset, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil || number+offset < 0 {
		return "", bad
	}
	number += offset
	width, base := uint64(0), "d"
	if len(parts) > 1 {
		if width, err = strconv.ParseUint(parts[1], 10, 8); err != nil || width > 100 {
			return "", bad
		}
	}
	if len(parts) > 2 {
		base = parts[2]
	}
	switch base {
	case "d":
		return fmt.Sprintf("%0*d", int(width), number), nil
	case "o":
		return fmt.Sprintf("%0*o", int(width), number), nil
	case "x":
		return fmt.Sprintf("%0*x", int(width), number), nil
	case "X":
		return fmt.Sprintf("%0*X", int(width), number), nil
	case "n", "N":
		return formatNibbles(number, int(width), base == "N"), nil
	}
	return "", bad
}

// formatNibbles writes number as hex digits from the lowest up, with dots between
// them, as ip6.arpa has it; width counts digits and dots.
func formatNibbles(number int64, width int, upper bool) string {
	digits := "0123456789abcdef"
	if upper {
		digits = "0123456789ABCDEF"
	}
	var out strings.Builder
	for {
		out.WriteByte(digits[number&15])
		if number >>= 4; number == 0 && out.Len()+1 >= width {
			return out.String()
		}
		out.WriteByte('.')
	}
}
