// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/find"
	"kubi.zone/kubizone/pkg/verify"
)

// readTime bounds the requests to the API server, dnsTime the questions to name servers.
const (
	readTime = 10 * time.Second
	dnsTime  = 5 * time.Second
)

// Clients send requests and questions.
type Clients struct {
	API versioned.Interface
	// Ask asks a name server, as verify.Ask does. Nil: no server is asked. Tenants choose the addresses of NS names
	// and of a Bind9Cluster's external instances, so a process that answers others must bound which addresses it asks.
	Ask func(context.Context, verify.Question) (*verify.Answer, error)
}

// Question of a user.
type Question struct {
	// Text is a DNS name, an address, record/NAME, zone/NAME, NAMESPACE/NAME or the name of an object.
	Text string
	// Type is the type at a DNS name; "" for all.
	Type string
	// Namespace has the objects without another namespace, and is searched alone unless Everywhere is true and the
	// user may list all.
	Namespace  string
	Everywhere bool
	// Resolver is HOST:PORT of a recursive server. "": only servers of classes are asked.
	Resolver string
}

// inquiry is a question under way.
type inquiry struct {
	Clients
	Question
	search *find.Search
	chain  Chain
	facts  []*Facts
	// subjects are those of facts.
	subjects []Subject
	zones    map[zoneKey]*ZoneFacts
}

// Ask answers a question. An error is that of the question, or of a request that failed for another reason than a
// missing right.
func Ask(ctx context.Context, clients Clients, q Question) (Chain, error) {
	q.Type = strings.ToUpper(q.Type)
	if q.Type != "" {
		if _, err := rdata.ParseType(q.Type); err != nil {
			return Chain{}, fmt.Errorf("type %s: %w", q.Type, err)
		}
	}
	i := &inquiry{Clients: clients, Question: q, zones: map[zoneKey]*ZoneFacts{},
		search: &find.Search{API: clients.API.KubizoneV1alpha1(), Namespace: q.Namespace, Everywhere: q.Everywhere}}
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
		return Chain{}, context.Cause(ctx)
	}
	for at, f := range i.facts {
		path := Path{Subject: i.subjects[at], Links: Judge(f)}
		path.settle()
		i.chain.Paths = append(i.chain.Paths, path)
	}
	i.chain.settle()
	return i.chain, nil
}

func (i *inquiry) note(format string, args ...any) {
	i.chain.Notes = append(i.chain.Notes, shorten(fmt.Sprintf(format, args...), maxText))
}
