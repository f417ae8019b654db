// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"

	whycmd "kubi.zone/kubizone/pkg/cmd/why"
	"kubi.zone/kubizone/pkg/reasons"
	"kubi.zone/kubizone/pkg/verify"
	"kubi.zone/kubizone/pkg/why"
)

type namePage struct {
	Text, Type string
	Chain      *why.Chain
	// Unknown counts the links that were not asked or not known.
	Unknown  int
	Problem  string
	Commands []string
}

// loadName draws the chain of a name, an address or an object.
func loadName(r *reading, request *http.Request) (any, error) {
	asked := request.URL.Query()
	page := &namePage{Text: strings.TrimSpace(asked.Get("text")), Type: strings.TrimSpace(asked.Get("type"))}
	if page.Text == "" {
		return page, nil
	}
	words := []string{"kubectl", "kubizone", "why", page.Text}
	if page.Type != "" {
		words = append(words, page.Type)
	}
	page.Commands = []string{command(words...)}
	resolver, err := whycmd.FindResolver("")
	if err != nil {
		return nil, err
	}
	chain, err := why.Ask(request.Context(), why.Clients{API: r.objects, Ask: verify.Ask, Public: true},
		why.Question{Text: page.Text, Type: page.Type, Namespace: r.own, Resolver: resolver})
	if err != nil {
		page.Problem = err.Error()
		return page, nil
	}
	page.Chain = &chain
	for i := range chain.Paths {
		for k := range chain.Paths[i].Links {
			if of := chain.Paths[i].Links[k].State; of == why.NotAsked || of == why.Unknown {
				page.Unknown++
			}
		}
	}
	return page, nil
}

// stateOfLink is the state of a link of a chain, or of the whole.
func stateOfLink(of why.State) state {
	return map[why.State]state{why.OK: {"ok", "ok"}, why.Fails: {"fails", "fails"}, why.Waits: {"waits", "waits"},
		why.NotAsked: {"off", "not asked"}, why.Unknown: {"off", "not known"}}[of]
}

func nameOfRole(of reasons.Role) string {
	return map[reasons.Role]string{reasons.You: "you", reasons.ZoneOwner: "the zone's owner", reasons.Platform: "the platform"}[of]
}
