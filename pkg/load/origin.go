// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"path/filepath"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// ParseOrigin reads the name of a zone: absolute, with or without the trailing dot.
func ParseOrigin(text string) (name.Name, error) {
	if !name.IsAbsolute(text) {
		text += "."
	}
	return name.Parse(text)
}

// originGuess is the origin of a zone file as the names of its Zone object and of the file suggest it. The reader asks
// for it if neither the file nor the caller gives an origin.
type originGuess struct {
	loader *Loader
	path   string
	// hints are in their order: the Zone object, then the file.
	hints []originHint
	// missed: the reader has asked, and there was no answer.
	missed bool
}

type originHint struct {
	origin name.Name
	from   string
}

// guessOrigin takes hints from the name of the Zone object, which may be empty, and from that of the file.
func (l *Loader) guessOrigin(object, path string) *originGuess {
	g := &originGuess{loader: l, path: path}
	// "example-org" may stand for any name; "example.org" is one.
	if strings.Contains(object, ".") {
		g.addHint(object, "the name of the Zone")
	}
	base := filepath.Base(path)
	switch lower := strings.ToLower(base); {
	case strings.HasPrefix(lower, "db."):
		g.addHint(base[len("db."):], "the name of the file")
	case isZoneFile(base):
		g.addHint(strings.TrimSuffix(base, filepath.Ext(base)), "the name of the file")
	}
	return g
}

func (g *originGuess) addHint(text, from string) {
	if text == "" || strings.HasSuffix(text, ".") {
		return
	}
	origin, err := ParseOrigin(text)
	if err != nil {
		return
	}
	// "db.127" and "1.168.192.db" are files of reverse zones and do not tell which: no top-level domain is a number.
	labels := origin.Labels()
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return
	}
	if !slices.ContainsFunc(g.hints, func(h originHint) bool { return h.origin == origin }) {
		g.hints = append(g.hints, originHint{origin, from})
	}
}

// answerReader answers the reader. Hints that contradict each other give no answer.
func (g *originGuess) answerReader() name.Name {
	switch len(g.hints) {
	case 0:
		g.missed = true
		return name.Name{}
	case 1:
		g.loader.say("%s: no $ORIGIN before its first relative name; %s is assumed, from %s", g.path, g.hints[0].origin, g.hints[0].from)
		return g.hints[0].origin
	}
	g.missed = true
	g.loader.say("%s: no $ORIGIN before its first relative name, and %s says %s and %s says %s", g.path, g.hints[0].from, g.hints[0].origin,
		g.hints[1].from, g.hints[1].origin)
	return name.Name{}
}

// howToSayOrigin is the next step if there was no answer.
const howToSayOrigin = `name the zone of the file: "$ORIGIN NAME." as its first line, NAME.zone or db.NAME as its name, ` +
	`--origin NAME with import, or NAME=PATH with up --load`
