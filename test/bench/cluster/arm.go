// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// The user of a request, and the way it goes.
const (
	masters    = "system:masters"
	tenant     = "tenant"
	direct     = "direct"
	aggregated = "aggregated"
)

// The Zones are of one namespace, which delegates everything to the namespaces of the Records: what a platform team and
// its tenant do. A round writes in one of them; what is listed and watched is in another, and what servers are started
// with in a third.
const (
	zoneNamespace       = "platform"
	roundNamespace      = "tenant"
	populationNamespace = "population"
	bigNamespace        = "big"
)

// manyZones is how many zones the Records go to in turn: those of one zone wait for each other, which test/bench
// measures.
const manyZones = 16

func domain(zone int) string { return fmt.Sprintf("z%02d.example.", zone%manyZones) }

// kind of object. All have one size, to a tenth: that of a Record as the server answers it.
type kind struct {
	name string
	// path of the group and version, and the resource.
	path, resource string
	// object is the i-th, as a client sends it.
	object func(name string, i int) string
}

// An update changes the one address to the other in what the server answered to the create.
const createdAddress, updatedAddress = `"192.0.2.1"`, `"192.0.2.2"`

func (k kind) group() string { return strings.Split(k.path, "/")[2] }

var (
	records = kind{
		name: "Records", path: "/apis/kubi.zone/v1alpha1", resource: "records",
		object: func(name string, i int) string {
			return fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":%q},`+
				`"spec":{"domainName":"%s.%s","type":"A","ttl":300,"values":["192.0.2.1"]}}`, name, name, domain(i))
		},
	}
	flunders = kind{
		name: "Flunders", path: "/apis/wardle.example.com/v1alpha1", resource: "flunders",
		object: func(name string, i int) string {
			return fmt.Sprintf(`{"apiVersion":"wardle.example.com/v1alpha1","kind":"Flunder","metadata":{"name":%q,"annotations":{"note":%q}},`+
				`"spec":{"reference":"192.0.2.1","referenceType":"Flunder"}}`, name, note[:noteOfFlunder])
		},
	}
	custom = kind{
		name: "CRD", path: "/apis/bench.kubi.zone/v1", resource: "customrecords",
		object: func(name string, i int) string {
			return fmt.Sprintf(`{"apiVersion":"bench.kubi.zone/v1","kind":"CustomRecord","metadata":{"name":%q},`+
				`"spec":{"domainName":"%s.%s","type":"A","ttl":300,"values":["192.0.2.1"],"note":%q}}`, name, name, domain(i), note[:noteOfCustom])
		},
	}
)

// A Record is as big as it is by what the server says in its status. The others have a note of so many octets instead.
const (
	noteOfFlunder = 586
	noteOfCustom  = 596
)

var note = strings.Repeat("what nobody reads ", 40)

// arm is one way to objects of one kind.
type arm struct {
	kind
	via, user string
	client    rest.Interface
	servers   []int // process ids of those whose CPU time answers cost: also straight to a server, which asks kube-apiserver who may
}

func (a arm) String() string { return a.name + " " + a.via + " " + a.user }

// pair of arms whose ratio is reported.
type pair struct{ over, under string }

func (p pair) String() string { return p.over + " ÷ " + p.under }

// pairs compare Records with the others on the same way as the same user (a CRD has the one way, through
// kube-apiserver), the tenant with system:masters, and the aggregator with the port behind it.
var pairs = func() (out []pair) {
	for _, via := range []string{direct, aggregated} {
		for _, user := range []string{masters, tenant} {
			ours := arm{kind: records, via: via, user: user}.String()
			out = append(out, pair{ours, arm{kind: flunders, via: via, user: user}.String()}, pair{ours, arm{kind: custom, via: direct, user: user}.String()})
		}
	}
	for _, k := range []kind{records, flunders} {
		for _, via := range []string{direct, aggregated} {
			out = append(out, pair{arm{kind: k, via: via, user: tenant}.String(), arm{kind: k, via: via, user: masters}.String()})
		}
		out = append(out, pair{arm{kind: k, via: aggregated, user: masters}.String(), arm{kind: k, via: direct, user: masters}.String()})
	}
	return append(out, pair{arm{kind: custom, via: direct, user: tenant}.String(), arm{kind: custom, via: direct, user: masters}.String()})
}()

// newArm makes the client: JSON, and neither a limit nor a decoder of its own, because it must not be what is measured.
func newArm(k kind, via, user string, config *rest.Config) (*arm, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.UserAgent, c.WarningHandler = -1, "kubizone-bench", rest.NoWarnings{}
	c.GroupVersion, c.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	client, err := rest.UnversionedRESTClientFor(c)
	return &arm{kind: k, via: via, user: user, client: client}, err
}

// request for a namespace's objects. It is not sent again: a server that says "later" has not done what was measured.
func (a *arm) request(verb, namespace string) *rest.Request {
	return a.client.Verb(verb).AbsPath(a.path).Namespace(namespace).Resource(a.resource).MaxRetries(0)
}

func (a *arm) create(ctx context.Context, namespace, name string, i int) ([]byte, error) {
	return a.request("POST", namespace).Body([]byte(a.object(name, i))).DoRaw(ctx)
}
