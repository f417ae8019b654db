// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/client/why"
)

type namePage struct {
	Text, Type, Namespace string

	Chain   *why.Chain
	Paths   []*namePath
	Unknown int // links NotAsked or Unknown
	Problem string
	// Commands print the chain on a terminal. With a Problem there are none, because the command would also fail.
	Commands []string
}

type namePath struct {
	*why.Path
	Last *history.Author
	At   *metav1.Time
	Lack *lack
}

// loadName follows a name or Record from its object to the answers of public resolvers (package why). An invalid text
// is the page's Problem.
func loadName(r *reading, request *http.Request) (any, error) {
	asked := request.URL.Query()
	page := &namePage{Text: strings.TrimSpace(asked.Get("text")), Type: strings.TrimSpace(asked.Get("type")),
		Namespace: cmp.Or(strings.TrimSpace(asked.Get("namespace")), r.own)}
	if page.Text == "" {
		return page, nil
	}
	// The first resolver of this machine. Without a resolver, a link of the chain says so.
	resolver, err := why.FindResolver("")
	if err != nil {
		return nil, err
	}
	chain, err := why.Ask(request.Context(), why.Clients{API: r.objects, Ask: verify.Ask, Public: true},
		why.Question{Text: page.Text, Type: page.Type, Namespace: page.Namespace, Resolver: resolver})
	if err != nil {
		page.Problem = err.Error()
		return page, nil
	}
	page.Chain = &chain
	words := []string{"kubectl", "kubizone", "why", page.Text}
	if page.Type != "" {
		words = append(words, page.Type)
	}
	page.Commands = []string{command(append(words, "-n", page.Namespace)...)} // kubectl may have another namespace
	var all sync.WaitGroup                                                    // package why limits the paths
	for i := range chain.Paths {
		path := &namePath{Path: &chain.Paths[i]}
		page.Paths = append(page.Paths, path)
		// Each goroutine writes its own path alone, and all.Wait comes before the page reads them.
		all.Go(func() { path.readLast(request.Context(), r) })
		for k := range chain.Paths[i].Links {
			if of := chain.Paths[i].Links[k].State; of == why.NotAsked || of == why.Unknown {
				page.Unknown++
			}
		}
	}
	all.Wait()
	return page, nil
}

// readLast reads the last change of the Record or Zone. Users of other namespaces' changes are hidden.
func (p *namePath) readLast(ctx context.Context, r *reading) {
	past, of := &history.Reader{Client: r.api}, &p.Subject
	var step *v1alpha1.HistoryStep
	var err error
	switch of.Kind {
	case "Record":
		step, err = past.LastOfRecord(ctx, of.Namespace, of.Name)
		p.Lack = lackOf(err, "get", "records/changes", of.Namespace)
	case "Zone":
		step, err = past.LastOfZone(ctx, of.Namespace, of.Name)
		p.Lack = lackOf(err, "get", "zones/changes", of.Namespace)
	}
	if step != nil {
		last := history.AuthorOf(step)
		p.Last, p.At = &last, step.Time
	}
}

func stateOfLink(of why.State) state {
	return map[why.State]state{why.OK: {"ok", "ok"}, why.Fails: {"fails", "fails"}, why.Waits: {"waits", "waits"},
		why.NotAsked: {"off", "not asked"}, why.Unknown: {"off", "not known"}}[of]
}

func nameOfRole(of reasons.Role) string {
	return map[reasons.Role]string{reasons.You: "you", reasons.ZoneOwner: "the zone's owner", reasons.Platform: "the platform"}[of]
}
