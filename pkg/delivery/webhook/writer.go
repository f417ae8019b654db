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
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

const (
	// After maxStreak failures in a row with unclear causes, the writer asks GET /health. If healthy, the rest of the
	// zone is written, because a tenant's refused records must not block others.
	maxStreak = 3
	// After maxSilent timeouts at a healthy server, the remaining RRsets get half the timeout, and those that failed
	// earlier are skipped. maxFailed bounds an attempt's failures.
	maxSilent, maxFailed = 2 * maxStreak, 256
	// soon is the retry delay after too many new failures. The retry writes the failed RRsets last.
	soon = 5 * time.Second
)

var minTimeout = time.Second

const timeoutFactor = 4

const featureRetry = 10 * time.Minute

type writer struct {
	provider *Provider
	plan     delivery.Plan
	fence    delivery.Fence
	report   delivery.Report

	waiting []item
	size    int // octets of waiting in a batch
	// streak counts failures since a success or a good GET /health.
	streak, failures, unanswered int
	timeout, slowest             time.Duration
	quotaError                   *delivery.Error // set while the quota is used up: no new RRset is written
	// lastPass is true if only RRsets that failed earlier are left, skipRest if too many of them failed again.
	lastPass, skipRest bool
	refusedItems       []item
	helped             bool                       // true if a write succeeded after a refusal
	mayStay            map[delivery.RRsetKey]bool // RRsets whose removal the server may refuse
}

type item struct {
	key     delivery.RRsetKey
	request protocol.Request
	path    string // for a Delete
	fresh   bool
}

func (w *writer) emptyRRset(key delivery.RRsetKey) protocol.RRset {
	return protocol.RRset{Zone: w.plan.Zone, Name: key.Name, Type: key.Type}
}

func (w *writer) failRRset(key delivery.RRsetKey, err *delivery.Error) {
	w.report.Failed = append(w.report.Failed, delivery.Failure{Name: key.Name, Type: key.Type, Err: err})
}

// putRRset adds the write of an RRset to the waiting items. An RRset without a form in the protocol is skipped and
// reported. fresh is true if the zone did not have the RRset before. An error ends the attempt.
func (w *writer) putRRset(ctx context.Context, set delivery.RRset, fresh bool) error {
	key := set.Key()
	if w.provider.skips(w.plan.Zone, key) {
		return nil
	}

	record, unfit, err := w.provider.encodeRRset(ctx, w.plan, set)
	var unknown *delivery.Error
	switch {
	// The server does not tell whether it has a feature that the RRset needs: the others are written.
	case errors.As(err, &unknown) && !unknown.WholeClass && ctx.Err() == nil:
		w.failRRset(key, unknown)
		return nil
	case err != nil:
		return err
	case unfit != nil:
		w.report.Skipped++
		w.failRRset(key, &delivery.Error{Reason: delivery.ReasonValidationFailed, RetryAfter: featureRetry, Message: unfit.Error()})
		return nil
	}
	return w.addItem(ctx, item{key: key, request: protocol.Request{Record: record, Operation: protocol.Upsert}, fresh: fresh})
}

func quoteSome(values []string) string {
	const most = 4
	var quoted []string
	for _, value := range values[:min(most, len(values))] {
		quoted = append(quoted, fmt.Sprintf("%.100q", value))
	}
	if len(values) > most {
		quoted = append(quoted, fmt.Sprintf("and %d more", len(values)-most))
	}
	return strings.Join(quoted, ", ")
}

// removeRRset adds the removal of an RRset to the waiting items.
func (w *writer) removeRRset(ctx context.Context, key delivery.RRsetKey) error {
	record, err := protocol.Encode(w.emptyRRset(key))
	if err != nil || w.provider.skips(w.plan.Zone, key) {
		return nil // never written
	}
	path, err := protocol.RecordPath(w.plan.Zone, key.Name, key.Type)
	if err != nil {
		return nil
	}
	return w.addItem(ctx, item{key: key, request: protocol.Request{Record: record, Operation: protocol.Delete}, path: path})
}

// addItem adds an item to the waiting items, and first writes those that would not fit into one batch with it.
func (w *writer) addItem(ctx context.Context, i item) error {
	body, err := protocol.Marshal(i.request)
	if err != nil {
		return err
	}
	const around = 64 // octets of JSON around the items of a batch
	if len(body)+around > protocol.MaxBody {
		w.failRRset(i.key, &delivery.Error{Reason: delivery.ReasonValidationFailed, Permanent: true,
			Message: fmt.Sprintf("the RRset is %d octets long in the webhook protocol, which takes %d", len(body),
				protocol.MaxBody-around)})
		return nil
	}

	if w.size+len(body)+1+around > protocol.MaxBody || len(w.waiting) == protocol.MaxBatch {
		if err := w.writeWaiting(ctx); err != nil {
			return err
		}
	}

	w.waiting = append(w.waiting, i)
	w.size += len(body) + 1
	return nil
}

// writeWaiting writes the waiting items, as a batch if the server has that feature, else one by one.
func (w *writer) writeWaiting(ctx context.Context) error {
	items := w.waiting
	w.waiting, w.size = nil, 0
	if len(items) > 1 && !w.skipRest {
		// Without an answer, single requests suffice. The query must not block writes.
		if has, err := w.provider.hasExtension(ctx, w.plan.CallTimeout, protocol.FeatureBatch); err == nil && has {
			done, err := w.writeBatch(ctx, items)
			if done || err != nil {
				return err
			}
		}
	}
	for _, i := range items {
		if err := w.writeItem(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) finishWriting(ctx context.Context) error {
	if err := w.writeWaiting(ctx); err != nil || !w.helped {
		return err
	}

	// Retry once, because the server may refuse an MX before its host's address, an address's removal before the RRset
	// that names it, or a new RRset before a removal.
	again := w.refusedItems
	w.refusedItems, w.helped = nil, false
	keys := map[delivery.RRsetKey]bool{}
	for _, i := range again {
		keys[i.key] = true
	}

	w.report.Failed = slices.DeleteFunc(w.report.Failed,
		func(f delivery.Failure) bool { return keys[delivery.RRsetKey{Name: f.Name, Type: f.Type}] })

	for _, i := range again {
		if err := w.addItem(ctx, i); err != nil {
			return err
		}
	}
	return w.writeWaiting(ctx)
}

// writeBatch writes items by one request, and records the outcome of each. done is false if single writes are needed.
// An error ends the attempt.
func (w *writer) writeBatch(ctx context.Context, items []item) (bool, error) {
	var batch protocol.Batch
	for _, i := range items {
		batch.Operations = append(batch.Operations, i.request)
	}
	body, err := protocol.Marshal(batch)
	if err != nil {
		return false, err
	}

	got, err := w.callServer(ctx, http.MethodPost, protocol.BatchPath, body)
	if asUnclear(ctx, err) != nil {
		w.unanswered++
		return false, nil // single writes find the item
	}
	if err != nil {
		return false, err
	}

	var response protocol.BatchResponse
	if got.status/100 != 2 || json.Unmarshal(got.body, &response) != nil || len(response.Results) != len(items) {
		switch got.status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			w.provider.forgetExtension(protocol.FeatureBatch)
			return false, nil
		}
		if _, _, refusal := got.readResponse(); refusal != nil && concernsClass(refusal) {
			return false, refusal
		}
		return false, nil // single writes find the item
	}

	var ended error
	for at, result := range response.Results {
		alone := answer{status: result.Status, header: got.header, secrets: got.secrets}
		var refusal *delivery.Error
		if isSuccess := *cmp.Or(result.Success, new(bool)); !isSuccess || result.Status/100 != 2 {
			refusal = alone.explainFailure(result.Error, result.Success != nil)
		}
		// The server has processed all items, so later results count even if this result ends the attempt.
		ended = cmp.Or(ended, w.recordOutcome(ctx, items[at], refusal, true))
	}
	return true, ended
}

// asUnclear returns the failure of a call that has no clear cause: no answer, or status 500. It returns nil for other
// errors, and if ctx has ended.
func asUnclear(ctx context.Context, err error) *delivery.Error {
	var failure *delivery.Error
	if !errors.As(err, &failure) || failure.WholeClass || !isUnclear(failure) || ctx.Err() != nil {
		return nil
	}
	return failure
}

// writeItem writes one item and records the outcome. An error ends the attempt.
func (w *writer) writeItem(ctx context.Context, i item) error {
	// The quota is used up: a new RRset would fail. Changed and removed RRsets need no quota.
	if w.quotaError != nil && i.fresh {
		w.failRRset(i.key, w.quotaError)
		w.refusedItems = append(w.refusedItems, i)
		return nil
	}

	// Only RRsets that failed before are left, and too many of them failed again.
	if w.skipRest {
		w.failRRset(i.key, delivery.Errorf(delivery.ReasonServerError, "its last write failed, as did much of the zone; it is retried "+
			"later"))
		return nil
	}

	method, path, body := http.MethodDelete, i.path, []byte(nil)
	if i.request.Operation == protocol.Upsert {
		method, path = http.MethodPost, protocol.RecordsPath
		var err error
		if body, err = protocol.Marshal(i.request); err != nil {
			return err
		}
	}

	got, err := w.callServer(ctx, method, path, body)
	if unclear := asUnclear(ctx, err); unclear != nil {
		unreached := unclear.Reason == delivery.ReasonServerUnreachable
		if unreached { // an answer that is too long is an answer
			w.unanswered++
		}
		return w.recordOutcome(ctx, i, unclear, unreached)
	}
	if err != nil {
		return err
	}
	_, isProtocol, failure := got.readResponse()
	return w.recordOutcome(ctx, i, failure, isProtocol)
}

// recordOutcome records the outcome of an item; failure is nil for a success. An error ends the attempt, because the
// server is down or the failure concerns the whole class.
func (w *writer) recordOutcome(ctx context.Context, i item, failure *delivery.Error, isProtocol bool) error {
	isDelete := i.request.Operation == protocol.Delete
	switch {
	// A removed RRset that the server does not have is removed.
	case failure == nil, isDelete && failure.Reason == delivery.ReasonZoneNotFound:
		w.streak, w.report.Proven = 0, true
		w.provider.order.Note(w.plan.Zone, i.key, false)
		w.helped = len(w.refusedItems) > 0
		if isDelete {
			w.quotaError = nil
		}
		return nil
	// The zone stays at the provider, with the required name servers.
	case isDelete && failure.Permanent && w.isRequired(i.key):
		w.streak = 0
		return nil
	}
	return w.recordFailure(ctx, i, failure, causeOf(failure, isProtocol))
}

// recordFailure reports a failed item, and asks for the server's health if the cause is doubtful. An error ends the
// attempt.
func (w *writer) recordFailure(ctx context.Context, i item, failure *delivery.Error, cause cause) error {
	if cause == inClass || cause == inProxy && w.streak == 0 && !w.isServerHealthy(ctx) {
		return failure
	}
	w.failItem(i, failure)
	if cause == inRRset {
		w.streak = 0
		return nil
	}
	return w.countUnclear(ctx, failure)
}

// cause is where the fault of a failed write most likely lies.
type cause int

const (
	inRRset  cause = iota // "the value 1.2.3 is no address"
	inClass               // a wrong key, or a rate limit
	inProxy               // an answer of no known form: of the server, or of a proxy that filters records
	inServer              // no answer, or status 500: of the server, or for this RRset alone
)

func causeOf(failure *delivery.Error, isProtocol bool) cause {
	switch {
	case concernsClass(failure):
		return inClass
	case failure.WholeClass, !isProtocol && !failure.Permanent:
		return inProxy
	case isUnclear(failure):
		return inServer
	}
	return inRRset
}

// isRequired reports whether an RRset may stay after the removal of the zone, since the provider's zone needs it: the
// NS at the apex, and addresses of name servers.
func (w *writer) isRequired(key delivery.RRsetKey) bool {
	return isApexNS(w.plan.Zone, key) || w.mayStay[key]
}

// isUnclear reports whether a failure may be of the server, or of the RRset.
func isUnclear(failure *delivery.Error) bool {
	return failure.Reason == delivery.ReasonServerError || failure.Reason == delivery.ReasonServerUnreachable
}

// failItem reports the failure of an RRset at a healthy server, and keeps the item for another write in this attempt if
// the writes in between may help.
func (w *writer) failItem(i item, failure *delivery.Error) {
	// A proxy refused this record: blame the RRset, not the class.
	if failure.WholeClass {
		failure = &delivery.Error{
			Reason: delivery.ReasonValidationFailed, Code: failure.Code, Detail: failure.Detail, RetryAfter: featureRetry,
			Message: fmt.Sprintf("HTTP status %s for this record, without a code of the protocol, "+
				"while the server says that it is healthy; see whether a proxy before the server refuses what the record says",
				failure.Code),
		}
	}
	w.failRRset(i.key, failure)
	w.provider.order.Note(w.plan.Zone, i.key, true)

	if failure.Reason == delivery.ReasonQuotaExceeded && w.plan.Changes != nil {
		w.quotaError = failure // until a removal; replacements need no quota
	}
	if failure.Permanent || failure == w.quotaError {
		w.refusedItems = append(w.refusedItems, i)
	}
}

// countUnclear counts a failure without a clear cause. After several, the server's health decides: the error is the
// failure if the attempt must end, because the server is down or too many RRsets failed anew.
func (w *writer) countUnclear(ctx context.Context, failure *delivery.Error) error {
	w.streak++
	w.failures++
	exhausted := w.unanswered >= maxSilent || w.lastPass && w.failures >= maxFailed
	if w.streak < maxStreak && !exhausted {
		return nil
	}
	if !w.isServerHealthy(ctx) {
		return failure
	}

	w.streak = 0
	switch {
	case !exhausted:
	// Only RRsets that failed before are left: give them up for this attempt.
	case w.lastPass:
		w.skipRest = true
	// A healthy server answers some RRsets never: wait less for each.
	case w.failures < maxFailed:
		w.timeout, w.unanswered = max(w.timeout/2, minTimeout, timeoutFactor*w.slowest), 0
	// Too many new failures: end here, and begin again with these RRsets last.
	default:
		again := *failure
		again.RetryAfter = soon
		return &again
	}
	return nil
}

func (w *writer) callServer(ctx context.Context, method, path string, body []byte) (answer, error) {
	began := time.Now()
	got, err := w.provider.callServer(ctx, w.timeout, w.fence, method, path, body)
	if err == nil {
		w.slowest = max(w.slowest, time.Since(began))
	}
	return got, err
}

// concernsClass excludes failures by a proxy before the server.
func concernsClass(failure *delivery.Error) bool {
	return failure.WholeClass && (isProtocolCode(failure.Code) || failure.Reason == delivery.ReasonRateLimited)
}

func (w *writer) isServerHealthy(ctx context.Context) bool {
	_, err := w.provider.askHealth(ctx, w.plan.CallTimeout)
	return err == nil
}
