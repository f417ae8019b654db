// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
)

// external-dns joins the endpoints of all objects for an RRset, and names the first object. If this object gets no
// Record, the provider looks for the others in the API. Otherwise an object without any right would hide them.

const (
	searchPage = 500
	// For a name, at most maxOthers objects are dry-run in a search, and maxOfNamespace of a namespace.
	maxOthers, maxOfNamespace = 64, 4
)

// others has the candidates of a name's unnamed objects, by namespace.
type others map[string][]*externaldns.Candidate

// decided is the result of a search for an RRset. It is kept for admittedTime, longer than a cycle of external-dns. A
// result without an admitted candidate is replaced after refusedTime.
type decided struct {
	candidates []*externaldns.Candidate
	expires    time.Time
}

// decideOthers dry-runs objects that external-dns may have joined to refused candidates, and stores the results in
// p.others. All refused names share a search, which begins refusedTime after the last at the earliest, so no tenant
// keeps the API busy.
func (p *provider) decideOthers(ctx context.Context, a *adjustment, refused map[contract.Key]*externaldns.Candidate) {
	if _, isRecent := p.others.Get(searched); len(refused) == 0 || isRecent {
		return
	}
	defer p.others.Add(searched, true, refusedTime)

	// 1. List the objects of each kind once, for all refused names.
	found := map[contract.Key]others{}
	for kind := range a.listKinds() {
		if err := p.searchKind(ctx, kind, refused, found); err != nil {
			klog.V(1).InfoS("objects that external-dns does not name are not found", "kind", kind, "err", err)
			if ctx.Err() != nil {
				return // the next search decides all
			}
		}
	}

	// 2. Dry-run the objects of each name.
	keys := slices.Collect(maps.Keys(refused))
	workqueue.ParallelizeUntil(ctx, workers, len(keys), func(i int) {
		all, ok := p.askForOthers(ctx, a, found[keys[i]])
		if !ok {
			return
		}
		// After a refusal the search is repeated soon, because a tenant may get a rule or correct an object.
		expiry := refusedTime
		if len(all) > 0 && all[len(all)-1].Admitted {
			expiry = admittedTime
		}
		p.others.Add(keys[i].String(), decided{all, time.Now().Add(expiry)}, admittedTime)
	})
}

const searched = "searched" // no key of an RRset

// listRefused returns a refused candidate of each RRset to search for: without a Record in a zone, an admitted
// candidate, or a valid result. hasNew is true if one of them has no earlier result.
func (p *provider) listRefused(a *adjustment) (refused map[contract.Key]*externaldns.Candidate, hasNew bool) {
	refused = map[contract.Key]*externaldns.Candidate{}
	if !p.search {
		return refused, false
	}
	for key, candidates := range a.wanted {
		known, isKnown := p.others.Get(key.String())
		isFresh := isKnown && time.Now().Before(known.(decided).expires)
		if isFresh || !a.existing.IsFree(key) {
			// Nothing to search: the result is fresh, or a Record has the name already.
			continue
		}
		if c := p.findRefused(a, candidates); c != nil {
			refused[key] = c
			hasNew = hasNew || !isKnown
		}
	}
	return refused, hasNew
}

// findRefused returns a refused candidate of an RRset, nil if a candidate is admitted or not decided yet: an admitted
// object publishes the name, so no other object is needed.
func (p *provider) findRefused(a *adjustment, candidates []*externaldns.Candidate) (refused *externaldns.Candidate) {
	for _, c := range candidates {
		verdict := p.lookUpVerdict(a, c)
		if verdict.Err == nil {
			return nil
		}
		// Without an object, no other objects can have been joined.
		if c.Resource.Kind != "" {
			refused = verdict
		}
	}
	return refused
}

// listKinds returns the kinds of objects in the endpoints.
func (a *adjustment) listKinds() map[string]bool {
	kinds := map[string]bool{}
	for _, candidates := range a.wanted {
		for _, c := range candidates {
			if _, isRead := sources[c.Resource.Kind]; isRead {
				kinds[c.Resource.Kind] = true
			}
		}
	}
	return kinds
}

// searchKind adds the objects of a kind with the name of a refused RRset to found.
func (p *provider) searchKind(ctx context.Context, kind string, refused map[contract.Key]*externaldns.Candidate,
	found map[contract.Key]others) error {
	byHost := map[string][]*externaldns.Candidate{}
	for key, c := range refused {
		host := strings.TrimSuffix(key.Name.String(), ".")
		byHost[host] = append(byHost[host], c)
	}
	options := metav1.ListOptions{Limit: searchPage}
	for {
		list, err := p.objects.Resource(sources[kind]).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			p.addOther(kind, &list.Items[i], byHost, found)
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// addOther adds the object to found, for each candidate of byHost whose name and a target the object has. Of a name, a
// namespace has at most maxOfNamespace objects, so the memory for a tenant is bounded.
func (p *provider) addOther(kind string, object *unstructured.Unstructured, byHost map[string][]*externaldns.Candidate,
	found map[contract.Key]others) {
	// Another external-dns publishes the object, for example in an inner network.
	if slices.ContainsFunc(annotationsOf(object, annotationController), func(text string) bool { return text != "dns-controller" }) {
		return
	}
	resource := externaldns.Resource{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	named := map[*externaldns.Candidate]bool{}
	for _, text := range hostsOf(object) {
		for _, word := range externaldns.Words(text) {
			for _, c := range byHost[externaldns.HostOf(word)] {
				named[c] = true
			}
		}
	}
	for c := range named {
		own := selectEndpoints(object, kind, c.Endpoint)
		other := p.MakeOther(c, resource, externaldns.Texts{Hosts: hostsOf(own), Targets: targetsOf(own)})
		if other == nil || resource == c.Resource {
			// The object does not have the name with this type, or is the object that external-dns names.
			continue
		}
		if found[c.Key] == nil {
			found[c.Key] = others{}
		}
		// team-a may have a thousand Ingresses with the name shop.example.org, and team-b's single Ingress has to be
		// asked too.
		if of := found[c.Key][other.Namespace]; len(of) < maxOfNamespace {
			found[c.Key][other.Namespace] = append(of, other)
		}
	}
}

// askForOthers dry-runs a name's objects until the server admits an object, and returns the objects with a verdict. The
// order of namespaces is random, so many namespaces of a tenant do not exclude others. ok is false after a temporary
// error.
func (p *provider) askForOthers(ctx context.Context, a *adjustment, all others) (asked []*externaldns.Candidate, ok bool) {
	for _, candidates := range all { // Go's maps are iterated in a random order
		for _, c := range candidates {
			if len(asked) == maxOthers || ctx.Err() != nil {
				return asked, ctx.Err() == nil
			}
			if c.Err == nil {
				// A namespace without a RoleBinding costs no request.
				c.Err = p.checkNamespace(a.snapshot, c.Namespace)
			}
			if c.Err == nil {
				if err := p.askServer(ctx, a, c); err != nil {
					why := readRefusal(err)
					// The error may pass, for example a timeout. An earlier result stays.
					if why == "" {
						return nil, false
					}
					c.Err = errors.New(why)
				}
			}
			asked = append(asked, c)
			if c.Admitted = c.Err == nil; c.Admitted {
				return asked, true
			}
		}
	}
	return asked, true
}

// joinOthers returns a copy of a.wanted, which dry runs still read, with the candidates of decideOthers.
func (p *provider) joinOthers(a *adjustment) externaldns.Wanted {
	wanted := maps.Clone(a.wanted)
	for key, candidates := range wanted {
		known, isKnown := p.others.Get(key.String())
		if !isKnown || !a.existing.IsFree(key) {
			continue
		}
		joined := slices.Clone(candidates)
		for _, other := range known.(decided).candidates {
			// The object that external-dns names is among the candidates, with all of its properties.
			if !slices.ContainsFunc(candidates, func(c *externaldns.Candidate) bool { return c.Resource == other.Resource }) {
				joined = append(joined, other)
			}
		}
		slices.SortStableFunc(joined, func(x, y *externaldns.Candidate) int {
			return cmp.Compare(x.Resource.String(), y.Resource.String())
		})
		wanted[key] = joined
	}
	return wanted
}
