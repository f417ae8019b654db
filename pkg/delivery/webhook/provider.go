// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type Provider struct {
	config    Config
	base      *url.URL
	basePath  string
	transport *http.Transport
	client    *http.Client

	mu           sync.Mutex
	extensions   []string
	askedAt      time.Time
	lastVerified map[name.Name]delivery.RRsetKey // the last RRset of a partial Verify, by zone
	order        delivery.WriteOrder
}

var _ delivery.Provider = (*Provider)(nil)

const extensionsLife = 10 * time.Minute

// Deliver returns an error even if some RRsets are written.
func (p *Provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	w := &writer{provider: p, plan: plan, fence: fence, timeout: p.boundTimeout(plan.CallTimeout)}
	err := w.writeAll(ctx)
	if err == nil {
		err = w.finishWriting(ctx)
	}
	if err == nil {
		w.report.Confirmed, w.report.Remains = plan.Serial, plan.Forgotten
	}
	return w.report, err
}

// writeAll writes the changes of the plan, or the whole zone if the changes are unknown. RRsets that failed before come
// last.
func (w *writer) writeAll(ctx context.Context) error {
	behind := w.provider.order.FailedRRsets(w.plan.Zone)
	if w.plan.Changes == nil {
		var last []delivery.RRset
		for set := range w.plan.All {
			if _, is := behind[set.Key()]; is {
				last = append(last, set)
			} else if err := w.putRRset(ctx, set, false); err != nil {
				return err
			}
		}
		slices.SortStableFunc(last, func(one, other delivery.RRset) int { return cmp.Compare(behind[one.Key()], behind[other.Key()]) })
		if err := w.beginBehind(ctx, len(last)); err != nil {
			return err
		}
		for _, set := range last {
			if err := w.putRRset(ctx, set, false); err != nil {
				return err
			}
		}
		return nil
	}
	return w.writeChanges(ctx, w.plan.Changes)
}

func (w *writer) writeChanges(ctx context.Context, changes []delivery.Change) error {
	first, last := w.provider.order.Divide(w.plan.Zone, changes)
	if err := w.writeNames(ctx, first); err != nil {
		return err
	}
	if err := w.beginBehind(ctx, len(last)); err != nil {
		return err
	}
	return w.writeNames(ctx, last)
}

func (w *writer) beginBehind(ctx context.Context, behind int) error {
	if behind == 0 {
		return nil
	}
	err := w.writeWaiting(ctx)
	w.lastPass, w.failures = true, 0
	return err
}

// writeNames writes the changes, name by name in the given order. Changes of a name are neighbours.
func (w *writer) writeNames(ctx context.Context, changes []delivery.Change) error {
	for len(changes) > 0 {
		end := 1
		for end < len(changes) && changes[end].After.Name == changes[0].After.Name {
			end++
		}
		// Removals come first, because a CNAME and other types exclude each other.
		for _, change := range changes[:end] {
			if len(change.After.Data) == 0 {
				if err := w.removeRRset(ctx, change.After.Key()); err != nil {
					return err
				}
			}
		}
		for _, change := range changes[:end] {
			if len(change.After.Data) > 0 {
				if err := w.putRRset(ctx, change.After, len(change.Before.Data) == 0); err != nil {
					return err
				}
			}
		}
		changes = changes[end:]
	}
	return nil
}

// Remove deletes every RRset of the plan, even if another client replaced it, because the protocol cannot tell.
func (p *Provider) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	w := &writer{provider: p, plan: plan, fence: fence, timeout: p.boundTimeout(plan.CallTimeout), mayStay: listNameServers(plan)}
	var removals []delivery.Change
	listed := map[delivery.RRsetKey]bool{}
	remove := func(key delivery.RRsetKey) {
		if !listed[key] {
			listed[key] = true
			removals = append(removals, delivery.Change{After: delivery.RRset{Name: key.Name, Type: key.Type}})
		}
	}

	for _, change := range plan.Changes {
		if change.After.Name.IsZero() {
			remove(change.Before.Key())
		} else {
			remove(change.After.Key())
		}
	}

	if plan.All != nil {
		for set := range plan.All {
			remove(set.Key())
		}
	}

	err := w.writeChanges(ctx, removals)
	if err == nil {
		err = w.finishWriting(ctx)
	}

	if err == nil && len(w.report.Failed) == 0 {
		w.report.Confirmed, w.report.Remains = plan.Serial, plan.Forgotten && !plan.Named
		p.order.Forget(plan.Zone)
	}
	return w.report, err
}

var errNoGet = fmt.Errorf("its server does not answer GET for records: %w", delivery.ErrCannotList)

// Verify asks for each RRset by a GET, at most VerifyAtMost in a call, and continues there in the next call. Without
// GET at the server the error wraps ErrCannotList.
func (p *Provider) Verify(ctx context.Context, plan delivery.Plan) (delivery.Drift, error) {
	var drift delivery.Drift
	p.mu.Lock()
	behind, begun := p.lastVerified[plan.Zone]
	delete(p.lastVerified, plan.Zone)
	p.mu.Unlock()

	asked := 0
	for set := range plan.All {
		if begun && set.Key().Compare(behind) <= 0 || p.skips(plan.Zone, set.Key()) {
			continue
		}

		// The next Verify begins behind the last compared RRset.
		if asked++; asked > p.config.VerifyAtMost && !plan.Whole {
			p.mu.Lock()
			p.lastVerified[plan.Zone] = behind
			p.mu.Unlock()
			break
		}

		behind = set.Key()
		record, unfit, err := p.encodeRRset(ctx, plan, set)
		if err != nil {
			return drift, err
		}
		path, wrong := protocol.RecordPath(plan.Zone, set.Name, set.Type)
		want, mistaken := protocol.Decode(record)
		if errors.Join(unfit, wrong, mistaken) != nil {
			drift.Unfit = append(drift.Unfit, set)
			continue
		}

		got, err := p.callServer(ctx, plan.CallTimeout, nil, http.MethodGet, path, nil)
		if err != nil {
			return drift, err
		}
		response, _, refusal := got.readResponse()
		switch {
		case refusal == nil && response.Record != nil:
			have, err := protocol.Decode(*response.Record)
			if err != nil || have.Name != want.Name || have.Type != want.Type || have.TTL != want.TTL ||
				!slices.Equal(have.Data, want.Data) {
				drift.Differing = append(drift.Differing, set)
			}
		// A success without a record is the answer of a server that ignores GET.
		case refusal == nil:
			return drift, errNoGet
		case refusal.Reason == delivery.ReasonZoneNotFound:
			drift.Missing = append(drift.Missing, set)
		case got.status == http.StatusNotFound, got.status == http.StatusMethodNotAllowed, got.status == http.StatusNotImplemented:
			return drift, errNoGet
		// The server refuses the name or type, so it never had the RRset.
		case refusal.Permanent:
			drift.Unfit = append(drift.Unfit, set)
		default:
			return drift, refusal
		}
	}
	return drift, nil
}

// encodeRRset returns an RRset of the plan in the form that the server takes. unfit says why it has no such form. err
// means that the server does not tell its features.
func (p *Provider) encodeRRset(ctx context.Context, plan delivery.Plan, set delivery.RRset) (record protocol.Record, unfit, err error) {
	whole := protocol.RRset{Zone: plan.Zone, Name: set.Name, Type: set.Type, TTL: set.TTL, Data: set.Data}
	record, unfit = protocol.Encode(whole)
	// A TXT of several strings, or of octets that are no UTF-8: only the format "presentation" keeps it.
	if unfit != nil || !protocol.Exact(whole) {
		presented, wrong := protocol.EncodePresentation(whole)
		has, err := p.hasExtension(ctx, plan.CallTimeout, protocol.FeaturePresentation)
		if err != nil {
			return record, unfit, err
		}
		if has && wrong == nil {
			return presented, nil, nil
		}
	}
	if !record.ByValue() {
		return record, unfit, nil
	}
	has, err := p.hasExtension(ctx, plan.CallTimeout, protocol.FeatureValueMetadata)
	if !has {
		unfit = fmt.Errorf("the values %s differ in priority, weight or port; the webhook protocol has one of each for all values of an "+
			"RRset, unless the server has the feature %s", quoteSome(set.Data), protocol.FeatureValueMetadata)
	}
	return record, unfit, err
}

func (p *Provider) Health(ctx context.Context) error {
	_, err := p.askHealth(ctx, 0)
	return err
}

// askHealth asks GET /health, and returns the features of the server, even of a server that reports a fault. Without a
// status in the answer, features are nil.
func (p *Provider) askHealth(ctx context.Context, timeout time.Duration) ([]string, error) {
	got, err := p.callServer(ctx, timeout, nil, http.MethodGet, protocol.HealthPath, nil)
	if err != nil {
		return nil, err
	}

	var health protocol.Health
	if json.Unmarshal(got.body, &health) != nil || health.Status == "" {
		_, _, refusal := got.readResponse()
		if refusal == nil {
			refusal = &delivery.Error{Reason: delivery.ReasonServerError, Code: strconv.Itoa(got.status), Message: "the answer to GET " +
				"/health has no status"}
		}
		return nil, refusal
	}

	p.mu.Lock()
	p.extensions, p.askedAt = health.Features, time.Now()
	p.mu.Unlock()

	if health.Status != protocol.Healthy || got.status/100 != 2 {
		err := delivery.Errorf(delivery.ReasonServerError, "the server reports that it is not healthy")
		err.Code, err.Detail = strconv.Itoa(got.status), cleanForeign(health.Status+": "+health.Message, got.secrets)
		return health.Features, err
	}
	return health.Features, nil
}

// hasExtension reports whether the server has a feature, by an answer to GET /health of the last ten minutes.
func (p *Provider) hasExtension(ctx context.Context, timeout time.Duration, extension string) (bool, error) {
	p.mu.Lock()
	extensions, fresh := p.extensions, time.Since(p.askedAt) < extensionsLife
	p.mu.Unlock()
	if !fresh {
		var err error
		if extensions, err = p.askHealth(ctx, timeout); err != nil && extensions == nil {
			return false, err
		}
	}
	return slices.Contains(extensions, extension), nil
}

func (p *Provider) forgetExtension(extension string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extensions = slices.DeleteFunc(slices.Clone(p.extensions), func(has string) bool { return has == extension })
}

func (*Provider) AskLast(context.Context) []string { return nil }

func (p *Provider) Abilities() delivery.Abilities {
	return delivery.Abilities{OwnApexNS: p.config.OwnApexNS}
}

func (p *Provider) Close() error {
	p.transport.CloseIdleConnections()
	return nil
}

// listNameServers returns the address RRsets of the zone's name servers. A provider may refuse to remove them, because
// its zone needs name servers.
func listNameServers(plan delivery.Plan) map[delivery.RRsetKey]bool {
	keys := map[delivery.RRsetKey]bool{}
	if plan.All == nil {
		return keys
	}
	for set := range plan.All {
		if !isApexNS(plan.Zone, set.Key()) {
			continue
		}
		for _, host := range set.Data {
			if n, err := name.Parse(host); err == nil {
				keys[delivery.RRsetKey{Name: n, Type: rdata.A}], keys[delivery.RRsetKey{Name: n, Type: rdata.AAAA}] = true, true
			}
		}
	}
	return keys
}

func (p *Provider) skips(zone name.Name, key delivery.RRsetKey) bool {
	return p.config.OwnApexNS && isApexNS(zone, key)
}

func isApexNS(zone name.Name, key delivery.RRsetKey) bool {
	return key.Name == zone && key.Type == rdata.NS
}
