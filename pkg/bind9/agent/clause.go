// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type clause struct {
	name   string
	tokens []string
}

type clauses []clause

func (c clauses) find(name string) (clause, bool) {
	i := slices.IndexFunc(c, func(one clause) bool { return one.name == name })
	if i < 0 {
		return clause{}, false
	}
	return c[i], true
}

// setClause replaces or appends a clause. Tokens of nil remove the clause. The caller's former slice stays unchanged.
func (c *clauses) setClause(name string, tokens []string) {
	i := slices.IndexFunc(*c, func(one clause) bool { return one.name == name })
	switch {
	case i < 0 && tokens == nil:
	case i < 0:
		*c = append(*c, clause{name, tokens})
	case tokens == nil:
		// modifyZone compares the present clauses with the changed copy, so write to a clone.
		*c = slices.Delete(slices.Clone(*c), i, i+1)
	default:
		*c = slices.Clone(*c)
		(*c)[i].tokens = tokens
	}
}

func (c clauses) text() string {
	var out strings.Builder
	out.WriteString("{ ")
	for _, one := range c {
		out.WriteString(one.name + " " + strings.Join(one.tokens, " ") + "; ")
	}
	out.WriteString("};")
	return out.String()
}

// listDifferences returns the names of the differing clauses, sorted. The file is left out, because each creation of a
// zone has another file name.
func (c clauses) listDifferences(other clauses) []string {
	var names []string
	plain := func(c clauses, name string) string {
		found, _ := c.find(name)
		// showzone may print a name without the quotes of the request: key agent, key "agent".
		return strings.ReplaceAll(strings.Join(found.tokens, " "), `"`, "")
	}
	for _, one := range slices.Concat(c, other) {
		if one.name != "file" && plain(c, one.name) != plain(other, one.name) {
			names = append(names, one.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c clauses) word(name string) string {
	found, _ := c.find(name)
	return strings.Trim(strings.Join(found.tokens, " "), `"`)
}

var errZoneText = errors.New("named's text of the zone is not a zone block")

// parseClauses parses the output of rndc showzone: zone "example.org" { type primary; … };
func parseClauses(text string) (clauses, error) {
	tokens, err := splitTokens(text)
	if err != nil {
		return nil, err
	}

	start := slices.Index(tokens, "{")
	if start < 0 {
		return nil, errZoneText
	}
	var all clauses
	var one []string
	depth := 1

	for _, token := range tokens[start+1:] {
		depth += map[string]int{"{": 1, "}": -1}[token]
		switch {
		// The closing brace of the zone block. The rest of the text is of no use.
		case depth == 0 && len(one) == 0:
			return all, nil
		// A clause ends at depth 1 only: allow-transfer { key "agent"; 192.0.2.1; }; has semicolons inside.
		case depth == 1 && token == ";" && len(one) > 0:
			all = append(all, clause{one[0], one[1:]})
			one = nil
		default:
			one = append(one, token)
		}
	}
	return nil, errZoneText
}

// token matches a word, a quoted string with its quotes, {, } or ;, or the quote of an open string.
var token = regexp.MustCompile(`(?s)[^ \t\r\n{};"]+|"(?:\\.|[^"\\])*"|[{};"]`)

// splitTokens splits named's text into tokens. An open string is an error.
func splitTokens(text string) ([]string, error) {
	tokens := token.FindAllString(text, -1)
	if slices.Contains(tokens, `"`) {
		return nil, errZoneText
	}
	return tokens, nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,253}$`)

func quoteName(field, text string) (string, error) {
	if !plainName.MatchString(text) {
		return "", refuse(http.StatusBadRequest, "%s %q: must be a name of letters, digits, dots, - and _", field, text)
	}
	return strconv.Quote(text), nil
}

const maxAddressList = 256

// blockOf renders a list of a request as the tokens of a block: { 192.0.2.1; key "agent"; }. The result is nil for an
// empty list, and an error names the element, such as alsoNotify[2].
func blockOf(field string, texts []string, render func(field, text string) ([]string, error)) ([]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > maxAddressList {
		return nil, refuse(http.StatusBadRequest, "%s: %d addresses; give at most %d", field, len(texts), maxAddressList)
	}
	tokens := []string{"{"}
	for i, text := range texts {
		element, err := render(fmt.Sprintf("%s[%d]", field, i), text)
		if err != nil {
			return nil, err
		}
		tokens = append(append(tokens, element...), ";")
	}
	return append(tokens, "}"), nil
}

// renderServer parses a server address of also-notify or primaries again, so that no text of a client reaches
// named.conf unchecked (A4). The tokens have the address, then port and key if given.
func renderServer(field, text string) ([]string, error) {
	// "list kubizone" names a block of named.conf, whose addresses change without a request.
	if list, named := strings.CutPrefix(text, "list "); named {
		quoted, err := quoteName(field, list)
		return []string{quoted}, err
	}
	address, key, keyed := strings.Cut(text, " key ")
	var at netip.AddrPort
	ip, err := netip.ParseAddr(address)
	if err != nil {
		// "192.0.2.1" has no port and "[2001:db8::1]:53" has one. Port 0 would be valid text and no server.
		if at, err = netip.ParseAddrPort(address); err != nil || at.Port() == 0 {
			return nil, refuse(http.StatusBadRequest, `%s %q: must be an IP address, with a port or without: "192.0.2.1", `+
				`"192.0.2.1:5353", "[2001:db8::1]:53", and " key NAME" behind it`, field, text)
		}
		ip = at.Addr()
	}
	// fe80::1%eth0 is valid only on the machine of the client.
	if ip.Zone() != "" {
		return nil, refuse(http.StatusBadRequest, "%s %q: must be an address without an interface", field, text)
	}
	tokens := []string{ip.String()}
	if at.IsValid() {
		tokens = append(tokens, "port", strconv.Itoa(int(at.Port())))
	}
	if keyed {
		quoted, err := quoteName(field, key)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, "key", quoted)
	}
	return tokens, nil
}

// renderMatch renders an element of allow-transfer: a key, an address, a prefix, any or none.
func renderMatch(field, text string) ([]string, error) {
	if key, keyed := strings.CutPrefix(text, "key "); keyed {
		quoted, err := quoteName(field, key)
		return []string{"key", quoted}, err
	}
	switch text {
	case "any", "none":
		return []string{text}, nil
	}
	// named refuses 192.0.2.1/24. The client gets the field's name instead of named's log.
	if prefix, err := netip.ParsePrefix(text); err == nil && prefix == prefix.Masked() {
		return []string{prefix.String()}, nil
	}
	if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
		return []string{ip.String()}, nil
	}
	return nil, refuse(http.StatusBadRequest, `%s %q: must be an IP address, a prefix without bits beyond its length, "key NAME", `+
		`"any" or "none"`, field, text)
}
