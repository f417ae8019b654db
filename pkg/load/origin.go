// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"path/filepath"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// originGuess is the origin of a zone file as its name tells: NAME.zone, NAME.db or db.NAME. The reader asks for it if
// neither the file nor the caller gives an origin.
type originGuess struct {
	loader *Loader
	path   string
	// origin is zero if the name of the file does not tell.
	origin name.Name
	// missed: the reader has asked, and there was no answer.
	missed bool
}

func (l *Loader) guessOrigin(path string) *originGuess {
	text := filepath.Base(path)
	switch before, after, _ := strings.Cut(text, "."); {
	case strings.EqualFold(before, "db"):
		text = after
	case isZoneFile(text):
		text = strings.TrimSuffix(text, filepath.Ext(text))
	default:
		text = ""
	}
	g := &originGuess{loader: l, path: path}
	// "db.127" and "1.168.192.db" are files of reverse zones and do not tell which: no top-level domain is a number.
	last := text[strings.LastIndexByte(text, '.')+1:]
	if origin, err := ParseOrigin(text); err == nil && strings.Trim(last, "0123456789") != "" {
		g.origin = origin
	}
	return g
}

// answerReader answers the reader.
func (g *originGuess) answerReader() name.Name {
	if g.missed = g.origin.IsZero(); !g.missed {
		g.loader.say("%s: no $ORIGIN before its first relative name; %s is assumed, from the name of the file", g.path, g.origin)
	}
	return g.origin
}

// howToSayOrigin is the next step if there was no answer.
const howToSayOrigin = `name the zone of the file: "$ORIGIN NAME." as its first line, NAME.zone or db.NAME as its name, ` +
	`--origin NAME with import, or NAME=PATH with up --load`
