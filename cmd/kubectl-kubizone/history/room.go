// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
)

type room struct {
	client *kubeconfig.Options
	format *output.Format
	api    versioned.Interface
	reader *history.Reader
	// limits is true if -n selects Records of any zone, rather than the namespace of the Zone.
	limits bool
}

func newRoom(command *cobra.Command, forms ...string) *room {
	r := &room{client: kubeconfig.NewOptions()}
	r.format = output.AddFormat(command, forms...)
	r.client.AddFlagsWithNamespace(command.Flags())
	return r
}

func (r *room) connect() (namespace string, err error) {
	if r.api, namespace, err = r.client.Reader(); err != nil {
		return "", err
	}
	r.reader = &history.Reader{Client: r.api.KubizoneV1alpha1()}
	return namespace, nil
}

// findSubject finds the zone, or the name in a zone, of an argument: a Zone or Record, present or deleted, or a DNS
// name. A text with a final dot is a DNS name. s.Zone is nil if the user may not read the Zone.
func (r *room) findSubject(ctx context.Context, text string) (s history.Subject, err error) {
	namespace, err := r.connect()
	if err != nil {
		return s, err
	}
	s.Namespace = namespace

	// 1. An object. A name with dots and without a slash may be a Zone object or a DNS name.
	if !strings.HasSuffix(text, ".") {
		kind, object := find.CutKind(text)
		at := types.NamespacedName{Namespace: namespace, Name: object}
		// Here -n limits the Records, so the namespace before the slash is no contradiction.
		if before, after, found := strings.Cut(text, "/"); r.limits && kind == "" && found {
			at = types.NamespacedName{Namespace: before, Name: after}
		} else if kind == "" {
			if at, err = r.client.Object(text, namespace); err != nil {
				return s, err
			}
		}
		isName := kind == "" && strings.Contains(text, ".") && !strings.Contains(text, "/")
		if isName {
			kind = find.KindZone
		}
		err := r.findPresent(ctx, &s, kind, at)
		// The object is deleted, and the history still has its steps.
		if !isName && isAbsent(err) {
			if found, pastErr := r.findPast(ctx, &s, kind, at); found || pastErr != nil {
				return s, pastErr
			}
			err = fmt.Errorf("no %s %s, present or deleted: %w", cmp.Or(kind, "Zone or Record"), at, err)
		}
		if !isName || !isAbsent(err) {
			return s, err
		}
	}

	// 2. A DNS name.
	if s.Name, err = name.Parse(strings.TrimSuffix(text, ".") + "."); err != nil {
		return s, fmt.Errorf("%q is neither a Zone object nor a DNS name: %w", text, err)
	}
	return s, r.findZone(ctx, &s)
}

// openZone returns the present content of a zone, and its past steps (changes between two serials) back to the first
// for which isLast returns true.
func (r *room) openZone(ctx context.Context, text string, isLast func(*v1alpha1.HistoryStep) bool) (s history.Subject,
	now *history.Content, past *history.Past, err error) {
	if s, now, err = r.openContent(ctx, text); err == nil {
		past, err = r.reader.Read(ctx, s, isLast)
	}
	return s, now, past, err
}

// openContent returns the present content of a zone.
func (r *room) openContent(ctx context.Context, text string) (s history.Subject, now *history.Content, err error) {
	if s, err = r.findSubject(ctx, text); err == nil {
		err = needZone(&s)
	}
	if err == nil {
		now, err = r.reader.ReadContent(ctx, s.Zone)
	}
	return s, now, err
}

func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// findPresent sets s for a present Zone or Record. Without a kind, the Zone wins over a Record of the same name.
func (r *room) findPresent(ctx context.Context, s *history.Subject, kind string, at types.NamespacedName) (err error) {
	api := r.api.KubizoneV1alpha1()
	if kind != find.KindRecord {
		zone, err := api.Zones(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
		switch {
		case err == nil && zone.Status.FQDN == "":
			return fmt.Errorf("zone %s has no name yet, and so no history", at)
		case err == nil:
			zone.Namespace, zone.Name, s.Zone = at.Namespace, at.Name, zone
			return nil
		case kind != "" || !isAbsent(err):
			return fmt.Errorf("zone %s: %w", at, err)
		}
	}
	record, err := api.Records(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("record %s: %w", at, err)
	}
	fqdn, err := name.Parse(record.Status.FQDN)
	if err != nil {
		return fmt.Errorf("record %s has no DNS name yet, and so no history", at)
	}
	return r.setRecord(ctx, s, at.Namespace, fqdn, record.Status.View)
}

// setRecord sets s to the name of a Record, and to the zone that encloses the name in the view. The zone is nil if the
// user may not read it.
func (r *room) setRecord(ctx context.Context, s *history.Subject, namespace string, fqdn name.Name, view string) error {
	s.Namespace, s.Name = namespace, fqdn
	search := &find.Search{API: r.api.KubizoneV1alpha1(), Namespace: namespace, Everywhere: true} // -n is the Record's
	zones, err := search.Enclosing(ctx, fqdn)
	for i := range zones {
		if zones[i].Status.View == view {
			s.Zone = &zones[i]
		}
	}
	return err
}

// findPast finds a deleted Zone or Record in the history, which outlives the objects.
func (r *room) findPast(ctx context.Context, s *history.Subject, kind string, at types.NamespacedName) (found bool, err error) {
	if kind != find.KindRecord {
		if step, err := r.reader.LastOfZone(ctx, at.Namespace, at.Name); step != nil || err != nil && !isAbsent(err) {
			// needZone knows a deleted Zone by the empty status.
			s.Zone = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
			return true, err
		}
	}
	if kind == find.KindZone {
		return false, nil
	}
	step, err := r.reader.LastOfRecord(ctx, at.Namespace, at.Name)
	if step == nil {
		if isAbsent(err) {
			err = nil
		}
		return false, err
	}
	fqdn, err := history.NameOfRecord(step, at)
	if err != nil {
		return false, err
	}
	return true, r.setRecord(ctx, s, at.Namespace, fqdn, step.View)
}

// findDeleted returns the deleted zone at or above the name, below the present zone, or nil. The name is zero in the
// result if it is the zone's own.
func (r *room) findDeleted(ctx context.Context, s history.Subject) (*history.Subject, error) {
	if s.Zone != nil && s.Zone.Status.FQDN == "" {
		return nil, nil
	}
	// From the name upwards: the nearest deleted zone had the name.
	for up, ok := s.Name, true; ok && (s.Zone == nil || up.String() != s.Zone.Status.FQDN); up, ok = up.Parent() {
		zone, err := r.reader.FindDeleted(ctx, s.Namespace, up)
		if err != nil {
			return nil, err
		}
		if zone != nil {
			found := &history.Subject{Zone: zone, Name: s.Name, Namespace: s.Namespace}
			if up == s.Name {
				found.Name = name.Name{}
			}
			return found, nil
		}
	}
	return nil, nil
}

// findZone sets s.Zone to the zone of s.Name, if the user may read it. If -n limits the Records, the zone may be of any
// namespace, provided that the user may read its changes, too: a tenant who may only list Zones has own changes.
func (r *room) findZone(ctx context.Context, s *history.Subject) error {
	search := r.client.Search(r.api, s.Namespace)
	search.Everywhere = search.Everywhere || r.limits
	for up, ok := s.Name, true; ok; up, ok = up.Parent() {
		zone, err := r.zoneAt(ctx, search, s.Namespace, up)
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		case zone != nil:
			// The name of a zone means the whole zone.
			if s.Zone = zone; up == s.Name {
				s.Name = name.Name{}
			}
			return nil
		}
	}
	return nil
}

// zoneAt returns the zone of a name, nil for none. The error is Forbidden if the user may not read the zone or its
// changes.
func (r *room) zoneAt(ctx context.Context, search *find.Search, namespace string, at name.Name) (*v1alpha1.Zone, error) {
	zone, err := search.ZoneAt(ctx, at)
	if err != nil || zone == nil || !r.limits || zone.Namespace == namespace {
		return zone, err
	}
	_, err = r.reader.LastOfZone(ctx, zone.Namespace, zone.Name)
	return zone, err
}

func needZone(s *history.Subject) error {
	if s.Zone != nil && s.Zone.Status.FQDN == "" {
		at := s.Zone.Namespace + "/" + s.Zone.Name
		return fmt.Errorf("zone %s was deleted: kubectl kubizone log %s prints its changes, and "+
			"kubectl kubizone revert %s --deleted takes it back", at, at, at)
	}
	if s.Zone == nil {
		return fmt.Errorf("no zone that you may read has the name %s: ask for the right to get its Zone, and zones/entries", s.Name)
	}
	return nil
}

// narrow selects the whole zone if a tenant gave the name of the zone.
func narrow(s *history.Subject, past *history.Past) {
	if s.Zone == nil && past.FQDN == s.Name.String() {
		s.Name = name.Name{}
	}
}

// reaches returns a test for the steps at or before m. A reading, newest step first, ends with the first of them.
func reaches(m history.Moment) func(*v1alpha1.HistoryStep) bool {
	if m.IsZero() {
		return nil
	}
	return func(x *v1alpha1.HistoryStep) bool { return !m.IsBefore(x) }
}

func parseMoments(texts ...string) (all []history.Moment, err error) {
	for _, text := range texts {
		m, err := history.ParseMoment(text, time.Now())
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
