// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Source is a file to load, or a directory with all files below. ParseSource reads it from an argument, such as
// "internal=example.org=zones/example.org.zone" with view, zone and path.
type Source struct {
	Path string
	// View is for zones from zone files; viewGiven is true even for the view "" of "=PATH".
	View      string
	viewGiven bool
	// Origin is the name of the zone. Zero means that the zone file, or its file name, gives the name.
	Origin name.Name
}

// ParseSource parses [VIEW=][NAME=]PATH, such as "internal=example.org=zones/a.zone". VIEW is "" or an RFC 1123 label.
// NAME is a zone's name and has a dot.
func ParseSource(text string) (Source, error) {
	var s Source
	rest := text
	view, after, found := strings.Cut(rest, "=")
	hasView := found && !strings.ContainsAny(view, "/\\.")
	if hasView {
		if view != "" {
			if wrong := validation.IsDNS1123Label(view); len(wrong) > 0 {
				return Source{}, fmt.Errorf("%q: view %q: %s; write VIEW=PATH, or ./%s if this is a path", text, view,
					strings.Join(wrong, ", "), text)
			}
		}
		s.View, s.viewGiven, rest = view, true, after
	}

	zone, after, found := strings.Cut(rest, "=")
	hasName := found && strings.Contains(zone, ".") && !strings.ContainsAny(zone, "/\\")
	if hasName {
		origin, err := ParseOrigin(zone)
		if err != nil {
			return Source{}, fmt.Errorf("%q: %w; write NAME=PATH with the name of a zone, or ./%s if this is a path", text, err, rest)
		}
		s.Origin, rest = origin, after
	}

	if rest == "" {
		return Source{}, fmt.Errorf("%q names no file: write PATH, VIEW=PATH, NAME=PATH or VIEW=NAME=PATH", text)
	}
	s.Path = rest
	return s, nil
}

func (s Source) String() string {
	text := s.Path
	if !s.Origin.IsZero() {
		text = s.Origin.String() + "=" + text
	}
	if s.viewGiven {
		text = s.View + "=" + text
	}
	return text
}

type Files struct {
	Manifests, Zones []string
}

// Files lists manifests and zone files, each kind in lexical order. A file given directly is a zone file unless
// IsManifest. In a directory, zone files end in .zone or .db, and files of neither kind are skipped.
func (s Source) Files() (Files, error) {
	info, err := os.Stat(s.Path)
	if err != nil {
		return Files{}, fmt.Errorf("load %s: %w; name a file or directory that exists and can be read", s, err)
	}
	isZoneFile := !info.IsDir() && !IsManifest(s.Path)
	if !s.Origin.IsZero() && !isZoneFile {
		return Files{}, fmt.Errorf("load %s: the name of a zone goes with one zone file, and %s is not a zone file: remove %q", s, s.Path,
			s.Origin.String()+"=")
	}

	var files Files
	switch {
	case info.IsDir():
		files, err = s.findFiles()
		if err != nil {
			return Files{}, err
		}
	case isZoneFile:
		files.Zones = []string{s.Path}
	default:
		files.Manifests = []string{s.Path}
	}

	if s.viewGiven && len(files.Manifests) > 0 {
		return Files{}, fmt.Errorf("load %s: a view goes with zone files, and %s is a manifest: write %s without %q, "+
			"and spec.view in the manifest", s, files.Manifests[0], s.Path, s.View+"=")
	}
	return files, nil
}

func (s Source) findFiles() (Files, error) {
	var files Files
	err := filepath.WalkDir(s.Path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case IsManifest(path):
			files.Manifests = append(files.Manifests, path)
		case isZoneFile(path):
			files.Zones = append(files.Zones, path)
		}
		return nil
	})
	if err != nil {
		return Files{}, fmt.Errorf("load %s: %w", s, err)
	}
	if len(files.Manifests)+len(files.Zones) == 0 {
		return Files{}, fmt.Errorf("load %s: %w", s, errEmptyDirectory)
	}
	return files, nil
}

var errEmptyDirectory = errors.New("the directory holds no manifest (.yaml, .yml, .json) and no zone file (.zone, .db); " +
	"a zone file of another name is loaded when named itself")

func IsManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path)))
}

func isZoneFile(path string) bool {
	return slices.Contains([]string{".zone", ".db"}, strings.ToLower(filepath.Ext(path)))
}

func ParseOrigin(text string) (name.Name, error) {
	if !name.IsAbsolute(text) {
		text += "."
	}
	return name.Parse(text)
}

// originGuess guesses the name of the zone in a zone file by guessFromSOA or from the file's name: example.org for
// example.org.zone, example.org.db or db.example.org. The guess serves only a file that gives no $ORIGIN before its
// first relative name.
type originGuess struct {
	// origin is zero without a guess. from is the source, for a message.
	origin name.Name
	from   string
	asked  bool
}

const fromSOA = "its SOA"

func guessOrigin(path string, file []byte) *originGuess {
	if origin, ok := guessFromSOA(file); ok {
		return &originGuess{origin: origin, from: fromSOA}
	}
	text := filepath.Base(path)
	switch before, after, _ := strings.Cut(text, "."); {
	case strings.EqualFold(before, "db"):
		text = after
	case isZoneFile(text):
		text = strings.TrimSuffix(text, filepath.Ext(text))
	default:
		text = ""
	}
	g := &originGuess{from: "the name of the file"}
	// "db.127" and "1.168.192.db" are incomplete names of reverse zones, because no top-level domain is a number.
	last := text[strings.LastIndexByte(text, '.')+1:]
	if origin, err := ParseOrigin(text); err == nil && strings.Trim(last, "0123456789") != "" {
		g.origin = origin
	}
	return g
}

// relativeSOA matches an SOA whose owner has an inner dot and no last one, after up to two fields such as ttl.
var relativeSOA = regexp.MustCompile(`(?mi)^([!-#%-:<-~][!-~]*\.[!-~]*[!-\-/-~])(?:[ \t]+[^ \t\r\n]+){0,2}[ \t]+SOA[ \t]`)

// guessFromSOA returns the owner of an SOA without the last dot, such as "shop.example" in an export of Cloudflare, if
// the owner has an inner dot and another line begins with "shop.example.".
func guessFromSOA(file []byte) (origin name.Name, ok bool) {
	soa := relativeSOA.FindSubmatch(file)
	if soa == nil || !regexp.MustCompile(`(?mi)^`+regexp.QuoteMeta(string(soa[1]))+`\.[ \t]+\S`).Match(file) {
		return name.Name{}, false
	}
	origin, err := ParseOrigin(strings.ToLower(string(soa[1])))
	return origin, err == nil
}

// orGiven returns the origin that a user or the Zone gives, or the guess from the SOA. With another origin, the SOA of
// a wrong file would have both names, as shop.example.GIVEN.
func (g *originGuess) orGiven(given name.Name) name.Name {
	if g.from == fromSOA && !given.IsZero() {
		return g.origin
	}
	return given
}

func (g *originGuess) answerReader() name.Name {
	g.asked = true
	return g.origin
}

func (g *originGuess) missed() bool { return g.asked && g.origin.IsZero() }

const howToSayOrigin = `name the zone of the file: "$ORIGIN NAME." as its first line, NAME.zone or db.NAME as its name, ` +
	`--origin NAME with import, or NAME=PATH with up --load`
