// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// readTime bounds all requests to the API server, dnsTime all questions to name servers.
const (
	readTime = 10 * time.Second
	dnsTime  = 5 * time.Second
)

// Ask answers a question. It fails if the question is invalid, or if a request fails. A missing right is no failure.
func Ask(ctx context.Context, clients Clients, q Question) (Chain, error) {
	q.Type = strings.ToUpper(q.Type)
	if q.Type != "" {
		if _, err := rdata.ParseType(q.Type); err != nil {
			return Chain{}, fmt.Errorf("type %s: %w", q.Type, err)
		}
	}
	i := &inquiry{Clients: clients, Question: q, zones: map[zoneKey]*ZoneFacts{},
		search: &find.Search{API: clients.API.KubizoneV1alpha1(), Namespace: q.Namespace, Everywhere: true}}
	i.chain = Chain{Question: q.Text, Type: q.Type, Paths: []Path{}}

	reading, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if err := i.findSubjects(reading); err != nil {
		return Chain{}, err
	}
	if err := i.readZones(reading); err != nil {
		return Chain{}, err
	}
	if clients.Ask != nil {
		asking, cancel := context.WithTimeout(ctx, dnsTime)
		defer cancel()
		i.askServers(asking)
	}
	if ctx.Err() != nil {
		return Chain{}, context.Cause(ctx) // the caller gave up
	}

	for index, facts := range i.facts {
		path := Path{Subject: i.subjects[index], Links: Judge(facts)}
		if facts.Zone != nil && facts.Zone.Name != "" {
			path.Zone = facts.Zone.Namespace + "/" + facts.Zone.Name
		}
		path.setState()
		i.chain.Paths = append(i.chain.Paths, path)
	}
	i.chain.setState()
	if i.chain.First != nil {
		reading, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		i.noteLastChange(reading)
	}
	return i.chain, nil
}
