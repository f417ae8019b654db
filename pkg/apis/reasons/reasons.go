// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"regexp"
	"strings"
	"sync"

	"kubi.zone/kubizone/docs"
)

// Role is the person who can repair a fault.
type Role string

const (
	// None means no fault, or a fault that ends by itself.
	None Role = ""
	// You is a writer of the object with the reason.
	You Role = "You"
	// ZoneOwner is a writer of the Zone.
	ZoneOwner Role = "ZoneOwner"
	// Platform is an operator of Kubizone.
	Platform Role = "Platform"
)

var roles = map[string]Role{"–": None, "you": You, "owner": ZoneOwner, "platform": Platform}

// Explanation is a row of docs/reasons.md, as plain text: the meaning of a condition's reason, and the remedy.
type Explanation struct {
	Reason string `json:"reason"`
	// Of is the heading of the row, such as "Adopted, of a Record".
	Of      string `json:"of"`
	Meaning string `json:"meaning"`
	// Mends is the role of the user who can do Step.
	Mends Role   `json:"mends,omitempty"`
	Step  string `json:"step"`
	// Rules has numbers of rules in docs/semantics.md, such as "S4.8".
	Rules []string `json:"rules,omitempty"`
}

// Headings of docs/reasons.md.
const (
	OfRecord = "Adopted, of a Record"
	OfZone   = "Delegated, Servable and Settled, of a Zone"
	OfReady  = "Ready, of Zones, Records, Deliveries and classes"
)

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	rule   = regexp.MustCompile(`S\d+\.\d+`)
	quoted = regexp.MustCompile("`([A-Za-z0-9]+)`")
	cites  = regexp.MustCompile(` \(S\d+\.\d+(, S\d+\.\d+| to S\d+\.\d+)*\)$`)
)

var All = sync.OnceValue(func() (all []Explanation) {
	of := ""
	for line := range strings.Lines(docs.Reasons) {
		line = strings.TrimSpace(line)
		if heading, is := strings.CutPrefix(line, "## "); is {
			of = heading
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		role, known := None, false
		if len(cells) == 4 {
			role, known = roles[cells[2]]
		}
		if !known {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			all = append(all, Explanation{Reason: m[1], Of: of, Meaning: plain(cites.ReplaceAllString(cells[1], "")), Mends: role,
				Step: strings.Replace(plain(cells[3]), "–", "nothing", 1), Rules: rule.FindAllString(cells[1], -1)})
		}
	}
	return all
})

func plain(text string) string { return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "") }

func Find(reason string) (found []Explanation) {
	for _, one := range All() {
		if strings.EqualFold(one.Reason, reason) {
			found = append(found, one)
		}
	}
	return found
}

// FindOf returns the explanation of a reason under a heading, such as OfRecord. If the heading has none, FindOf returns
// the first explanation or, for an unknown reason, only the reason.
func FindOf(reason, heading string) Explanation {
	found := Find(reason)
	for _, explanation := range found {
		if explanation.Of == heading {
			return explanation
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	return Explanation{Reason: reason}
}
