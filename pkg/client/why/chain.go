// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"unicode/utf8"

	"kubi.zone/kubizone/pkg/apis/reasons"
)

type State string

const (
	OK      State = "OK"
	Fails   State = "Fails"
	Waits   State = "Waits"
	Unknown State = "Unknown"
	// NotAsked means that no question was sent, perhaps for lack of a right.
	NotAsked State = "NotAsked"
)

func (s State) IsBad() bool { return s == Fails || s == Waits }

// Kind of a link, in the order of a path. A path may have several Servers and Parents.
type Kind string

const (
	KindRule   Kind = "Rule"
	KindRecord Kind = "Record"
	KindZone   Kind = "Zone"
	KindSerial Kind = "Serial"
	KindClass  Kind = "Class"
	KindServer Kind = "Server"
	KindParent Kind = "Parent"
)

type Reading string

const (
	ReadingName    Reading = "Name"
	ReadingAddress Reading = "Address"
	ReadingRecord  Reading = "Record"
	ReadingZone    Reading = "Zone"
)

// Chain explains why a name does not resolve. For each subject, such as a Record, it has a path of links from the rule,
// over Record and zone, to the name servers.
type Chain struct {
	Question string  `json:"question"`
	Type     string  `json:"type,omitempty"`
	Reading  Reading `json:"reading"`
	// Notes name other readings of the question, the scope of a search, and omitted subjects.
	Notes []string `json:"notes,omitempty"`
	// State is the worst state of all paths.
	State State `json:"state"`
	// First is the cause: the first link that fails or, if none fails, waits. Nil if all links work.
	First *Link  `json:"first,omitempty"`
	Paths []Path `json:"paths"`
}

type Path struct {
	Subject Subject `json:"subject"`
	// Zone is NAMESPACE/NAME of the subject's zone, or "".
	Zone  string `json:"zone,omitempty"`
	State State  `json:"state"`
	Links []Link `json:"links"`
}

// Subject is the subject of a path. Kind is Record, Zone or Name. A name has no object.
type Subject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	FQDN      string `json:"fqdn,omitempty"`
	View      string `json:"view,omitempty"`
	Type      string `json:"type,omitempty"`
}

// Link is a stage of a path from a rule to a name server, with the state of the stage.
type Link struct {
	Kind Kind `json:"kind"`
	// Of names the zone, class or server.
	Of    string `json:"of,omitempty"`
	State State  `json:"state"`
	// Reason is the reason of a condition (docs/reasons.md), or "".
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text"`
	// Step is the repair, and Mends the role of the user who can do it. Both are "" without a fault.
	Mends reasons.Role `json:"mends,omitempty"`
	Step  string       `json:"step,omitempty"`
}

const (
	// In runes.
	maxText  = 400
	maxData  = 120
	maxPaths = 20
	maxLinks = 100
	// maxWriters bounds the namespaces of a link.
	maxWriters = 5
)

func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

func firstBad(links []Link) *Link {
	for _, state := range []State{Fails, Waits} {
		for i := range links {
			if links[i].State == state {
				return &links[i]
			}
		}
	}
	return nil
}

func (p *Path) setState() {
	for i := range p.Links {
		l := &p.Links[i]
		l.Text, l.Step, l.Of = shorten(l.Text, maxText), shorten(l.Step, maxText), shorten(l.Of, maxText)
	}
	p.State = OK
	if bad := firstBad(p.Links); bad != nil {
		p.State = bad.State
	}
}

func (c *Chain) setState() {
	c.State = OK
	for _, state := range []State{Fails, Waits} {
		for i := range c.Paths {
			if c.Paths[i].State == state {
				c.State, c.First = state, firstBad(c.Paths[i].Links)
				return
			}
		}
	}
}

func (s *Subject) Describe() string {
	text := s.FQDN
	if s.Name != "" {
		text = strings.ToLower(s.Kind) + " " + s.Namespace + "/" + s.Name + " " + s.FQDN
	}
	if s.Type != "" {
		text += " " + s.Type
	}
	if s.View != "" {
		text += " (view " + s.View + ")"
	}
	return text
}
