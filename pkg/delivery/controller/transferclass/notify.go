// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary"
)

// Bounds of the reports about NOTIFY. One server can be that of 100,000 zones, so a primary writes at most maxReports
// Deliveries each reportInterval, within reportTime, and at most maxReported servers into each: 1,000 zones of a server
// have its name within 45 seconds (S7.12).
const (
	reportInterval = 5 * time.Second
	reportTime     = 3 * time.Second
	maxReports     = 200
	maxReported    = 8
	// reportAgain is the age at which a row that another hand has removed is written again. Without this time, two
	// primaries would write and remove a row by turns, if the server admits one of them.
	reportAgain = 2 * time.Minute
)

// reports has, for each server of a waiting Delivery, the answer that this primary has stored last, until the server
// confirms.
type reports struct {
	last map[reportKey]reported
	// failed has the last logged error for each Delivery.
	failed map[cache.ObjectName]string
}

func newReports() reports {
	return reports{map[reportKey]reported{}, map[cache.ObjectName]string{}}
}

type reportKey struct {
	delivery cache.ObjectName
	server   string
}

// reported is an answer for a confirmed serial, with the time of its report.
type reported struct {
	answer, from, catalog string
	serial                int64
	at                    time.Time
}

// isRecent reports whether r is the same answer as now, reported less than reportAgain before.
func (r reported) isRecent(now reported) bool {
	age := now.at.Sub(r.at)
	r.at = now.at
	return r == now && age < reportAgain
}

// report has the rows that a Delivery with a UID is to have, and the answers in them that are new.
type report struct {
	delivery cache.ObjectName
	uid      string
	rows     []v1alpha1.DeliveryNotify
	fresh    map[reportKey]reported
}

// reportNotify writes into the waiting Deliveries which servers do not confirm NOTIFY, if that has changed. The refusal
// of a Delivery is logged, and leaves the others; any other error, and reportTime, end the pass.
func (c *Controller) reportNotify(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	all := c.collectReports(c.Primary.NotifyFaults, c.Primary.TLSFaults)
	for _, one := range all[:min(maxReports, len(all))] {
		isStored, err := c.patchNotify(ctx, one.delivery, one.uid, one.rows)
		if err != nil && ctx.Err() != nil { // the next pass goes on
			return
		}
		if err != nil {
			if text := err.Error(); c.reports.failed[one.delivery] != text {
				c.reports.failed[one.delivery] = text
				klog.FromContext(ctx).Error(err, "Servers that refuse NOTIFY are not reported; retrying", "delivery", one.delivery)
			}
			if isOfObject(err) {
				continue
			}
			return
		}
		delete(c.reports.failed, one.delivery)
		if isStored {
			maps.Copy(c.reports.last, one.fresh)
		}
	}
}

// collectReports returns the Deliveries to write: first a Delivery for each server that none of the class names,
// because the zones of a server must not delay the fault of another. Otherwise the order is random, so a Delivery
// refused each time delays no other. collectReports forgets Deliveries that wait no more.
func (c *Controller) collectReports(faultsOf func(class *primary.Class, uid string) map[primary.Target]*primary.NotifyFault,
	tlsFaultsOf func(*primary.Class) map[netip.Addr]primary.TLSFault) []report {
	isWaiting := map[cache.ObjectName]bool{}
	var first, others []report
	for class, one := range c.serving {
		isNamed, tlsFaults := map[string]bool{}, tlsFaultsOf(one.Class)
		name := func(rows []v1alpha1.DeliveryNotify) (isNew bool) {
			for _, row := range rows {
				isNew = isNew || !isNamed[row.Server]
				isNamed[row.Server] = true
			}
			return isNew
		}
		for at, known := range c.Members.listWaiting(class) {
			isWaiting[at] = true
			name(known.notify)
			rows, fresh := c.reports.decideRows(at, &known, one.peers, faultsOf(one.Class, known.uid), tlsFaults, time.Now())
			if slices.EqualFunc(rows, known.notify, sameAnswer) {
				continue
			}
			list := &others
			if name(rows) {
				list = &first
			}
			*list = append(*list, report{at, known.rank.ID, rows, fresh})
		}
	}
	maps.DeleteFunc(c.reports.failed, func(at cache.ObjectName, _ string) bool { return !isWaiting[at] })
	maps.DeleteFunc(c.reports.last, func(key reportKey, _ reported) bool { return !isWaiting[key.delivery] })
	return append(first, others...)
}

// decideRows returns the rows that a Delivery is to have, in the order of the class's servers, and the answers in them
// that are new. A row of another primary stays until the server confirms a NOTIFY of this primary. A confirmation also
// ends the memory of the last report, so that the same fault is reported again.
//
// A server without transfers over TLS has a row about the fault, as long as this primary knows of it.
func (r *reports) decideRows(at cache.ObjectName, known *waiting, peers Peers, faults map[primary.Target]*primary.NotifyFault,
	tlsFaults map[netip.Addr]primary.TLSFault, clock time.Time) (rows []v1alpha1.DeliveryNotify, fresh map[reportKey]reported) {
	byAddress := map[netip.AddrPort]*primary.NotifyFault{}
	for target, fault := range faults {
		byAddress[target.Addr] = fault
	}
	fresh = map[reportKey]reported{}
	for i := range peers.Secondaries {
		s := &peers.Secondaries[i]
		key := reportKey{at, s.Name}
		before := slices.IndexFunc(known.notify, func(row v1alpha1.DeliveryNotify) bool { return row.Server == s.Name })
		fault, isKnown := byAddress[s.Addr]
		isReported := false
		var row v1alpha1.DeliveryNotify
		var now reported
		// The server transfers nothing, or did not confirm the last NOTIFY of this primary.
		overTLS, failsTLS := tlsFaults[s.Addr.Addr()]
		fails := failsTLS || fault != nil
		switch {
		case failsTLS:
			row, isKnown = rowOfTLS(s, overTLS), true
		case fault != nil:
			row = rowOfFault(s, fault, peers.Catalog)
		// The row of a fault of TLS that is over, reported by this primary.
		case before >= 0 && class.TLSFault(&known.notify[before]) != "" && !r.last[key].at.IsZero():
			isKnown = true
		}
		if fails {
			now = reported{row.Answer, row.From, row.Catalog, known.serial, clock}
			isReported = r.last[key].isRecent(now)
		} else if isKnown {
			delete(r.last, key)
		}
		switch {
		case len(rows) == maxReported:
		case !isKnown || isReported: // keep the row, or its absence
			if before >= 0 {
				rows = append(rows, known.notify[before])
			}
		// A new fault, or one with another answer.
		case fails:
			rows = append(rows, row)
			fresh[key] = now
		}
	}
	return rows, fresh
}

func sameAnswer(a, b v1alpha1.DeliveryNotify) bool {
	return a.Server == b.Server && a.Answer == b.Answer && a.From == b.From && a.Catalog == b.Catalog
}

// patchNotify replaces the rows of a Delivery. A Delivery that is gone, or another of the same name, is no error, and
// stores nothing.
func (c *Controller) patchNotify(ctx context.Context, at cache.ObjectName, uid string, rows []v1alpha1.DeliveryNotify) (
	isStored bool, err error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": map[string]any{"notify": rows}})
	if err != nil {
		return false, err
	}
	_, err = c.Client.KubizoneV1alpha1().Deliveries(at.Namespace).Patch(ctx, at.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kubizone-primary"}, "notify")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// isOfObject reports whether a refusal concerns a single Delivery, as an invalid row does. 401, 403 and 429 concern
// this process, and so all Deliveries.
func isOfObject(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusUnauthorized && code != http.StatusForbidden &&
		code != http.StatusTooManyRequests
}

func rowOfFault(s *transfer.Secondary, fault *primary.NotifyFault, catalog name.Name) v1alpha1.DeliveryNotify {
	row := v1alpha1.DeliveryNotify{Server: s.Name, Answer: fault.Answer, Time: metav1.NewTime(fault.Since)}
	if fault.From.IsValid() {
		row.From = fault.From.String()
	}
	if fault.Zone == catalog {
		row.Catalog = catalog.String()
	}
	row.Message, row.Remedy = describeFault(s, fault, row.Catalog)
	return row
}

// describeFault returns the fault, and the line to write at the server or another next step. RFC 1996 has no RCODE for
// a NOTIFY from an unknown primary: BIND and NSD answer REFUSED, Knot NOTAUTH. For an absent zone NSD answers
// NXDOMAIN, and the others NOTAUTH.
func describeFault(s *transfer.Secondary, fault *primary.NotifyFault, catalog string) (message, remedy string) {
	what := "the zone"
	if catalog != "" {
		what = "the catalog zone " + catalog
	}
	// The primary has no route or socket for the server.
	if !fault.From.IsValid() {
		return fmt.Sprintf("no NOTIFY for %s can be sent to %s", what, s.Name), "see the log of kubizone-primary"
	}

	// Behind a translation of addresses, as in a cluster, the server sees another address than the primary's own.
	named, bind, knot, nsd := "", "ADDRESS", "address: ADDRESS", "ADDRESS NOKEY"
	admit := "admit there as ADDRESS the address that its log names for the NOTIFY"
	if s.Key != nil {
		named = strings.TrimSuffix(s.Key.Name, ".")
		bind, knot, nsd = fmt.Sprintf("key %q", named), "key: "+named, fmt.Sprintf("0.0.0.0/0 %s and allow-notify: ::/0 %[1]s", named)
		admit = "admit its key there"
	}
	admit += fmt.Sprintf(": BIND allow-notify { %s; }; Knot an acl with %s, action: notify; NSD allow-notify: %s", bind, knot, nsd)
	left := "for " + what + ", which left the primary from " + fault.From.String()
	answers := fmt.Sprintf("%s answers %s to NOTIFY %s", s.Name, fault.Answer, left)
	switch fault.Answer {
	case "REFUSED":
		return answers, admit
	// BIND for an absent zone, Knot for an unknown primary.
	case "NOTAUTH":
		return answers, fmt.Sprintf("if it lacks %s, make it a secondary of that; otherwise %s", what, admit)
	case "NXDOMAIN":
		return answers, fmt.Sprintf("it lacks %s: make it a secondary of that", what)
	case "BADKEY", "BADSIG", "BADTIME", "Unsigned":
		return answers, strings.TrimSpace("give both ends the same time and the same key " + named)
	case "NoAnswer":
		return fmt.Sprintf("%s does not answer NOTIFY %s", s.Name, left),
			"let UDP from the primary to the server through firewalls, and see its log"
	}
	return answers, "see its log"
}
