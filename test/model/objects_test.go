// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
)

type change struct {
	revision int64  // resourceVersion
	object   string // namespace/name
	gone     bool
	zone     *v1alpha1.Zone // or
	record   *v1alpha1.Record
}

func (c change) transactionOf() int64 {
	revision, _ := subrev.Split(c.revision)
	return revision
}

func (c change) String() string {
	switch {
	case c.gone && c.zone != nil:
		return fmt.Sprintf("%d zone %s is gone", c.revision, c.object)
	case c.gone:
		return fmt.Sprintf("%d record %s is gone", c.revision, c.object)
	case c.zone != nil:
		s := c.zone.Status
		return fmt.Sprintf("%d zone %s is %s, serial %d, %d entries, hash %.8s", c.revision, c.object, s.FQDN, s.Serial, s.EntryCount, s.Hash)
	}
	s := c.record.Status
	at := "in no zone: "
	if s.ZoneRef != nil {
		at = fmt.Sprintf("in zone %s/%s, serial %d: ", s.ZoneRef.Namespace, s.ZoneRef.Name, s.Serial)
	}
	if a := apimeta.FindStatusCondition(s.Conditions, "Adopted"); a != nil {
		at += a.Reason
	}
	return fmt.Sprintf("%d record %s %s %s %s is %s", c.revision, c.object, s.FQDN, c.record.Spec.Type, c.record.Spec.RData, at)
}

// history is every change of objects after a revision, in order. A zone comes before the records of the same
// revision.
type history []change

func (h history) readRevision() int64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].revision
}

func (h history) listKeys() (all []string) {
	for _, c := range h {
		all = append(all, c.String())
	}
	return all
}

func (w *world) readHistory(t testing.TB, server int, from int64) history {
	t.Helper()
	var h history
	for _, kind := range []string{"zones", "records"} {
		changes := must.Get(w.readWatch(t, server, kind, from))(t)
		h = append(h, changes...)
	}
	slices.SortStableFunc(h, func(x, y change) int { return cmp.Compare(x.transactionOf(), y.transactionOf()) })
	return h
}

func (w *world) readWatch(t testing.TB, server int, kind string, from int64) (history, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	api := w.connectServer(t, server)
	options := metav1.ListOptions{ResourceVersion: strconv.FormatInt(from, 10), AllowWatchBookmarks: true}
	begin := api.Zones("").Watch
	if kind == "records" {
		begin = api.Records("").Watch
	}
	// The newest object was created after all deletions, by markEnd.
	newest, err := w.findNewest(ctx, t, server, kind)
	if err != nil {
		return nil, err
	}
	watching, err := begin(ctx, options)
	if err != nil {
		return nil, err
	}
	defer watching.Stop()
	var h history
	for max(from, h.readRevision()) < newest { // no event follows the newest object
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the watch of %s from %d ends at %d, %d is there", kind, from, h.readRevision(), newest)
		case e, ok := <-watching.ResultChan():
			if !ok {
				return nil, fmt.Errorf("the watch of %s from %d ended at %d", kind, from, h.readRevision())
			}
			if e.Type == watch.Error {
				return nil, apierrors.FromObject(e.Object)
			}
			o, err := apimeta.Accessor(e.Object)
			if err != nil {
				return nil, err
			}
			c := change{object: o.GetNamespace() + "/" + o.GetName(), gone: e.Type == watch.Deleted}
			if _, err := fmt.Sscan(o.GetResourceVersion(), &c.revision); err != nil {
				return nil, err
			}
			if e.Type == watch.Bookmark {
				continue
			}
			if c.revision < h.readRevision() || c.revision <= from {
				return nil, fmt.Errorf("the watch of %s from %d shows %d after %d", kind, from, c.revision, h.readRevision())
			}
			c.zone, _ = e.Object.(*v1alpha1.Zone)
			c.record, _ = e.Object.(*v1alpha1.Record)
			h = append(h, c)
		}
	}
	return h, nil
}

// markEnd creates an object of each kind, so every watch reaches an end after the operations.
func (w *world) markEnd(t testing.TB) {
	t.Helper()
	api, name := w.connectServer(t, 0), fmt.Sprintf("mark-%d", w.readRevision(t))
	must.Get(api.Zones("owner").Create(t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ZoneSpec{Limits: &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))}, DomainName: name + "."}},
		metav1.CreateOptions{}))(t)
	must.Get(api.Records("owner").Create(t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RecordSpec{DomainName: "nowhere." + name + "-x.", Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}))(t)
	must.Succeed(t, w.waitForCascades(t))
}

func (w *world) findNewest(ctx context.Context, t testing.TB, server int, kind string) (newest int64, err error) {
	api := w.connectServer(t, server)
	var list runtime.Object
	if kind == "records" {
		list, err = api.Records("").List(ctx, metav1.ListOptions{})
	} else {
		list, err = api.Zones("").List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return 0, err
	}
	err = apimeta.EachListItem(list, func(o runtime.Object) error {
		a, err := apimeta.Accessor(o)
		if err != nil {
			return err
		}
		revision, err := strconv.ParseInt(a.GetResourceVersion(), 10, 64)
		newest = max(newest, revision)
		return err
	})
	return newest, err
}

type state struct {
	zones   map[types.UID]*v1alpha1.Zone
	records map[string]*v1alpha1.Record
}

// checkHistory replays a history through the model. about names the objects of the error.
func checkHistory(h history) (about []string, err error) {
	s := state{zones: map[types.UID]*v1alpha1.Zone{}, records: map[string]*v1alpha1.Record{}}
	for i := 0; i < len(h); {
		n := i + 1
		for n < len(h) && h[n].transactionOf() == h[i].transactionOf() {
			n++
		}
		if about, err := s.applyRevision(h[i:n]); err != nil {
			return about, fmt.Errorf("at revision %d: %w", h[i].revision, err)
		}
		i = n
	}
	return nil, nil
}

// A revision changes records of a zone, in the order of decisions, and that zone (I1).
func (s *state) applyRevision(together []change) (about []string, err error) {
	var zone *change
	var records []*change
	for i := range together {
		about = append(about, together[i].object)
		if c := &together[i]; c.zone == nil {
			records = append(records, c)
		} else if zone != nil {
			return about, fmt.Errorf("I1: two zones change at once: %s, %s", zone, c)
		} else {
			zone = c
		}
	}
	for i, c := range records[:max(0, len(records)-1)] {
		next := records[i+1]
		if of, other := s.zoneOf(c), s.zoneOf(next); of != "" && other != "" && of != other {
			return about, fmt.Errorf("I1: records of two zones change at once: %s, %s", c, next)
		}
		if c.revision >= next.revision {
			return about, fmt.Errorf("I1: two records have one version: %s, %s", c, next)
		}
	}
	var was int64 // the zone's serial before
	if zone != nil {
		if before := s.zones[zone.zone.UID]; before != nil {
			was = before.Status.Serial
		}
		if err := s.applyZone(zone); err != nil {
			return about, err
		}
	}
	for _, c := range records {
		before := s.records[c.object]
		if c.gone {
			if before != nil && before.Status.ZoneRef != nil && s.isExisting(before.Status.ZoneRef.UID) && zone == nil {
				return about, fmt.Errorf("S7.1: record %s goes, and its zone does not change with it", c.object)
			}
			delete(s.records, c.object)
			continue
		}
		s.records[c.object] = c.record
		if err := s.applyRecord(before, c.record, zone, was); err != nil {
			return about, err
		}
	}
	return about, nil
}

// zoneOf returns the zone changed by a record's change: the former zone, if still there, or else the new zone. "":
// none.
func (s *state) zoneOf(c *change) types.UID {
	if r := s.records[c.object]; r != nil && r.Status.ZoneRef != nil && s.isExisting(r.Status.ZoneRef.UID) {
		return r.Status.ZoneRef.UID
	}
	if c.record != nil && c.record.Status.ZoneRef != nil {
		return c.record.Status.ZoneRef.UID
	}
	return ""
}

// isExisting: the zone exists and has not ended (S3.5).
func (s *state) isExisting(uid types.UID) bool {
	z := s.zones[uid]
	return z != nil && z.Status.Serial != 0
}

func (s *state) applyZone(c *change) error {
	uid := c.zone.UID
	before := s.zones[uid]
	if c.gone {
		delete(s.zones, uid)
		return nil
	}
	is := &c.zone.Status
	for _, other := range s.zones {
		if other.UID != uid && other.Status.Serial != 0 && is.Serial != 0 && other.Status.FQDN == is.FQDN && other.Status.View == is.View {
			return fmt.Errorf("S1.5: %s/%s and %s are both %s", other.Namespace, other.Name, c.object, is.FQDN)
		}
	}
	s.zones[uid] = c.zone
	if d := is.DNSSEC; d != nil && d.FQDN != is.FQDN {
		return fmt.Errorf("S12.2: zone %s is %q and has the DS of %q", c.object, is.FQDN, d.FQDN)
	}
	if before == nil || before.Status.Serial == 0 {
		return nil
	}
	if is.Serial == 0 {
		d := apimeta.FindStatusCondition(before.Status.Conditions, "Delegated")
		if (d == nil || d.Reason != "DelegationWithdrawn") && !s.isBelowNoPeriod(before) {
			return fmt.Errorf("S3.5: zone %s ended, and neither was its rule withdrawn nor is a zone without period above: %+v",
				c.object, d)
		}
		return nil
	}
	was := &before.Status
	moved, changed := was.Serial != is.Serial, was.Hash != is.Hash
	switch {
	case changed && !moved:
		return fmt.Errorf("S6.9: zone %s: two definitions for serial %d", c.object, is.Serial)
	case moved && countBehind(was.Serial, is.Serial) <= 0:
		return fmt.Errorf("S6.9: zone %s: serial %d after %d", c.object, is.Serial, was.Serial)
	case moved && is.ContentGeneration <= was.ContentGeneration:
		return fmt.Errorf("S6.9: zone %s: serial %d is generation %d, %d was %d", c.object, is.Serial, is.ContentGeneration, was.Serial, was.ContentGeneration)
	case moved && !changed && was.FQDN == is.FQDN:
		return fmt.Errorf("S6.11: zone %s: serials %d and %d are the same", c.object, was.Serial, is.Serial)
	}
	return nil
}

// isBelowNoPeriod reports whether the nearest zone above has a grace period of zero: a zone created there ends an
// undelegated zone below at once (S3.5, S3.6).
func (s *state) isBelowNoPeriod(z *v1alpha1.Zone) bool {
	at, err := name.Parse(z.Status.FQDN)
	if err != nil {
		return false
	}
	parent, _ := at.Parent()
	above := s.findEnclosing(z.Status.View, parent, "")
	return above != nil && above.Spec.WithdrawalGracePeriod != nil && above.Spec.WithdrawalGracePeriod.Duration == 0
}

func (s *state) applyRecord(before, r *v1alpha1.Record, zone *change, was int64) error {
	key := r.Namespace + "/" + r.Name
	ref := r.Status.ZoneRef
	// decided: an answer to a new spec, not a step of a cascade or a change of metadata.
	decided := before == nil || before.Generation != r.Generation
	fqdn, err := name.Parse(r.Status.FQDN)
	if ref == nil {
		if !decided || err != nil || r.Spec.ZoneRef != nil {
			return nil
		}
		if at := s.findEnclosing(r.Status.View, fqdn, r.Spec.Type); at != nil && at.DeletionTimestamp == nil && isSettled(at) {
			if a := apimeta.FindStatusCondition(r.Status.Conditions, "Adopted"); a == nil || a.Reason != "Moving" {
				return fmt.Errorf("S2.3: record %s waits, and zone %s encloses it", key, at.Status.FQDN)
			}
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("S1.2: record %s: %w", key, err)
	}
	// Until a cascade takes a record out of a removed zone, its conditions may change.
	entered := before == nil || before.Status.ZoneRef == nil || before.Status.ZoneRef.UID != ref.UID || before.Status.Serial != r.Status.Serial
	if !entered {
		return nil
	}
	z := s.zones[ref.UID]
	if z == nil {
		return fmt.Errorf("S2.1: record %s is in zone %s/%s, which is not there", key, ref.Namespace, ref.Name)
	}
	if zone == nil || zone.zone.UID != ref.UID {
		// A second record with the same value changes no definition; nor does metadata (S5.2).
		if r.Status.Serial > z.Status.Serial {
			return fmt.Errorf("S7.1: record %s is at serial %d of zone %s, which is at %d", key, r.Status.Serial, z.Status.FQDN, z.Status.Serial)
		}
	} else if r.Status.Serial != z.Status.Serial && (countBehind(was, r.Status.Serial) <= 0 &&
		!(was == r.Status.Serial && s.givesNothingNew(r)) || countBehind(r.Status.Serial, z.Status.Serial) <= 0) {
		// Records of a batch come with the zone at the last record's serial. Each record has a serial of its own, or
		// the former serial if no definition changed.
		return fmt.Errorf("S7.1: record %s came with serial %d, and its zone went from %d to %d", key, r.Status.Serial, was, z.Status.Serial)
	}
	longest := s.findEnclosing(r.Status.View, fqdn, r.Spec.Type)
	if longest == nil || longest.UID != ref.UID {
		return fmt.Errorf("S2.1: record %s at %s is in zone %s, and the longest zone is %s", key, fqdn, z.Status.FQDN, fqdnOf(longest))
	}
	if !allowsRecord(z, r.Namespace, fqdn, r.Spec.Type) {
		return fmt.Errorf("S2.2: record %s at %s is in zone %s, whose delegations do not allow %s there to %s: %+v", key, fqdn, z.Status.FQDN, r.Spec.Type, r.Namespace, z.Spec.Delegations)
	}
	if r.Namespace == z.Namespace {
		return nil
	}
	base := baseOf(r, z)
	if base == "" {
		return fmt.Errorf("S4.8: record %s of a tenant at %s counts as the apex of zone %s", key, fqdn, z.Status.FQDN)
	}
	for other, o := range s.records {
		if o.Namespace != r.Namespace && o.Namespace != z.Namespace && o.Status.ZoneRef != nil && o.Status.ZoneRef.UID == ref.UID && baseOf(o, z) == base {
			return fmt.Errorf("S4.8: %s at %s and %s at %s of two tenants have one base name", key, fqdn, other, o.Status.FQDN)
		}
	}
	return nil
}

// givesNothingNew reports whether other records have all values of a record, so no definition changes (S5.2).
func (s *state) givesNothingNew(r *v1alpha1.Record) bool {
	var given []string
	for _, o := range s.records {
		if o.UID != r.UID && o.Status.ZoneRef != nil && o.Status.ZoneRef.UID == r.Status.ZoneRef.UID && o.Status.FQDN == r.Status.FQDN && o.Spec.Type == r.Spec.Type {
			given = append(append(given, o.Spec.Values...), o.Spec.RData)
		}
	}
	return len(given) > 0 && !slices.ContainsFunc(append(slices.Clone(r.Spec.Values), r.Spec.RData), func(v string) bool { return v != "" && !slices.Contains(given, v) })
}

// baseOf returns the labels of a record, relative to the zone, after the last label that is * or begins with _
// (S4.8).
func baseOf(r *v1alpha1.Record, z *v1alpha1.Zone) string {
	labels := strings.Split(strings.TrimSuffix(strings.TrimSuffix(r.Status.FQDN, z.Status.FQDN), "."), ".")
	for i, label := range slices.Backward(labels) {
		if label == "*" || strings.HasPrefix(label, "_") {
			return strings.Join(labels[i+1:], ".")
		}
	}
	return strings.Join(labels, ".")
}

// countBehind returns the distance from serial a to b in serial number arithmetic (RFC 1982, section 3.2).
func countBehind(a, b int64) int32 { return int32(uint32(b) - uint32(a)) }

func isSettled(z *v1alpha1.Zone) bool {
	return apimeta.IsStatusConditionTrue(z.Status.Conditions, "Settled")
}

func fqdnOf(z *v1alpha1.Zone) string {
	if z == nil {
		return "none"
	}
	return z.Status.FQDN
}

// findEnclosing returns the zone of a name (S2.1). DS at the apex of a child belongs to the parent.
func (s *state) findEnclosing(view string, n name.Name, rtype string) (longest *v1alpha1.Zone) {
	for _, z := range s.zones {
		if z.Status.Serial == 0 || z.Status.View != view {
			continue
		}
		at, err := name.Parse(z.Status.FQDN)
		if err != nil || !at.Encloses(n) || rtype == "DS" && at == n {
			continue
		}
		if longest == nil || len(z.Status.FQDN) > len(longest.Status.FQDN) {
			longest = z
		}
	}
	return longest
}

// allowsRecord is S4.1 to S4.6 for the rules in the forest.
func allowsRecord(z *v1alpha1.Zone, namespace string, n name.Name, rtype string) bool {
	fqdn, err := name.Parse(z.Status.FQDN)
	if err != nil {
		return false
	}
	for _, d := range z.Spec.Delegations {
		to := d.Namespaces
		if d.Namespace != "" {
			to = append(slices.Clone(to), d.Namespace)
		}
		if len(to) > 0 && !slices.Contains(to, namespace) {
			continue
		}
		for _, r := range d.Records {
			listed := slices.Contains(r.Types, rtype)
			if len(r.Types) == 0 {
				listed = namespace == z.Namespace || rtype != "NS"
			}
			if p, err := pattern.Parse(r.Pattern); err == nil && listed && p.Match(n, fqdn) {
				return true
			}
		}
	}
	return false
}
