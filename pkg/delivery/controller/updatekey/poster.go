// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary/updates"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Poster sends messages to the API server. Before Connect, the answer is SERVFAIL.
type Poster struct {
	api atomic.Pointer[rest.Interface]

	mu       sync.Mutex
	outcomes map[string]outcome // by ID, since they were taken last
}

type outcome struct {
	update          *v1alpha1.UpdateKeyUpdate
	refusal         *v1alpha1.UpdateKeyRefusal
	failure         error
	refused, failed int
}

var _ updates.Handler = (*Poster)(nil)

func (p *Poster) Connect(api rest.Interface) { p.api.Store(&api) }

func idOf(key *v1alpha1.UpdateKey) string { return key.Namespace + "/" + key.Name }

// post sends a request to a subresource of the UpdateKey id, and returns the answer, which is never nil.
func (p *Poster) post(ctx context.Context, id, subresource string, spec v1alpha1.UpdateRequestSpec) (*v1alpha1.UpdateRequest, error) {
	api, answer := p.api.Load(), &v1alpha1.UpdateRequest{}
	if api == nil {
		return answer, errors.New("the API server is not connected yet")
	}
	namespace, object, _ := strings.Cut(id, "/")
	request := &v1alpha1.UpdateRequest{Spec: spec}
	request.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("UpdateRequest"))
	return answer, (*api).Post().Namespace(namespace).Resource("updatekeys").Name(object).SubResource(subresource).Body(request).
		Do(ctx).Into(answer)
}

// Update lets the API server apply a message, and returns the RCODE for the client: SERVFAIL if the server gave no
// answer, so that the client sends the message again.
func (p *Poster) Update(ctx context.Context, key *updates.Key, m *update.Message, from netip.Addr) uint16 {
	answer, err := p.post(ctx, key.ID, "update", v1alpha1.UpdateRequestSpec{Zone: m.Zone.String(), From: from.String(), ID: m.ID,
		Prerequisites: writeRecords(m.Prerequisites), Updates: writeRecords(m.Updates)})
	if apierrors.IsRequestEntityTooLargeError(err) { // a retry would not help
		answer, err = &v1alpha1.UpdateRequest{Status: v1alpha1.UpdateRequestStatus{RCode: update.Refused.String(),
			Message: "the message is longer than the API server reads; send several messages"}}, nil
	}
	rcode, known := update.ParseRCode(answer.Status.RCode)
	if err == nil && !known {
		err = fmt.Errorf("the API server answers with RCODE %q, which is none", answer.Status.RCode)
	}
	if err != nil {
		rcode = update.ServFail
	}
	p.noteOutcome(key.ID, rcode, &answer.Status, err)
	return uint16(rcode)
}

// An unmet prerequisite is no refusal, because clients query with prerequisites.
func (p *Poster) noteOutcome(id string, rcode update.RCode, status *v1alpha1.UpdateRequestStatus, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outcomes == nil {
		p.outcomes = map[string]outcome{}
	}
	last := p.outcomes[id]
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	switch {
	case err != nil:
		last.failure, last.failed = err, last.failed+1
	case rcode == update.NoError:
		// A message that changed nothing, such as a question by prerequisites.
		if status.Serial == 0 {
			return
		}
		last.update = &v1alpha1.UpdateKeyUpdate{Time: now, Serial: status.Serial}
	case slices.Contains([]update.RCode{update.YXDomain, update.NXDomain, update.YXRRset, update.NXRRset}, rcode):
		return
	default:
		last.refused++
		last.refusal = &v1alpha1.UpdateKeyRefusal{Time: now, RCode: rcode.String(), Message: status.Message}
	}
	p.outcomes[id] = last
}

// takeOutcomes returns and forgets the outcomes by ID, and logs failed and refused messages, once for many.
func (p *Poster) takeOutcomes(log klog.Logger) map[string]outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.outcomes
	p.outcomes = nil
	for id, o := range taken {
		if o.failed > 0 {
			log.Info("Updates are not carried out; their clients may send them again", "updatekey", id, "messages", o.failed,
				"err", o.failure)
		}
		if o.refused > 0 {
			log.V(1).Info("Updates refused", "updatekey", id, "messages", o.refused, "rcode", o.refusal.RCode, "why", o.refusal.Message)
		}
	}
	return taken
}

func (p *Poster) Share(ctx context.Context, key *updates.Key, zone name.Name) ([]content.RRset, error) {
	answer, err := p.post(ctx, key.ID, "share", v1alpha1.UpdateRequestSpec{Zone: zone.String()})
	if err != nil {
		return nil, err
	}
	if answer.Status.RCode != update.NoError.String() {
		return nil, fmt.Errorf("%s: %s", answer.Status.RCode, answer.Status.Message)
	}
	return readShare(zone, answer.Status.Share)
}

// readShare groups the records of an answer into RRsets. Records of an RRset are neighbours.
func readShare(zone name.Name, records []v1alpha1.UpdateRequestRecord) (sets []content.RRset, err error) {
	for _, r := range records {
		t, err := rdata.ParseType(r.Type)
		if err != nil {
			return nil, err
		}
		fqdn, err := name.Parse(r.Name)
		if err != nil {
			return nil, err
		}
		owner, inside := fqdn.Rel(zone)
		if !inside {
			return nil, fmt.Errorf("%s is not in %s", fqdn, zone)
		}
		if last := len(sets) - 1; last >= 0 && sets[last].Owner == owner && sets[last].Type == t {
			sets[last].Data = append(sets[last].Data, r.Data)
			continue
		}
		sets = append(sets, content.RRset{Owner: owner, Type: t, TTL: content.ExplicitTTL(uint32(r.TTL)), Data: []string{r.Data}})
	}
	return sets, nil
}

func writeRecords(records []update.RR) (all []v1alpha1.UpdateRequestRecord) {
	for _, rr := range records {
		all = append(all, v1alpha1.UpdateRequestRecord{Name: rr.Name.String(), Type: rr.Type.String(), Class: string(rr.Class),
			TTL: int64(rr.TTL), Data: rr.Data})
	}
	return all
}
