// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/history"
)

type room struct {
	client *kubeconfig.Options
	format *output.Format
	api    versioned.Interface
	reader *history.Reader
}

func newRoom(command *cobra.Command, forms ...string) *room {
	r := &room{client: kubeconfig.NewOptions()}
	r.format = output.AddFormat(command, forms...)
	r.client.AddFlagsWithNamespace(command.Flags())
	return r
}

// connect returns the user's namespace.
func (r *room) connect() (namespace string, err error) {
	if r.api, namespace, err = r.client.Reader(); err != nil {
		return "", err
	}
	r.reader = &history.Reader{Client: r.api.KubizoneV1alpha1()}
	return namespace, nil
}

// findSubject connects, and returns the zone or name of an argument.
func (r *room) findSubject(ctx context.Context, text string) (s history.Subject, err error) {
	namespace, err := r.connect()
	if err != nil {
		return s, err
	}
	s.Namespace = namespace
	at, err := r.client.Object(text, namespace)
	if err != nil {
		return s, err
	}
	if strings.Contains(text, "/") || !strings.HasSuffix(text, ".") {
		zone, err := r.api.KubizoneV1alpha1().Zones(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
		switch {
		case err == nil && zone.Status.FQDN == "":
			return s, fmt.Errorf("zone %s has no name yet, and so no history", at)
		case err == nil:
			zone.Namespace, zone.Name, s.Zone = at.Namespace, at.Name, zone
			return s, nil
		case apierrors.IsNotFound(err) && (strings.Contains(text, "/") || !strings.Contains(text, ".")):
			s.Zone = &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}}
			return s, nil // the history outlives the Zone
		case strings.Contains(text, "/") || !strings.Contains(text, ".") || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
			return s, fmt.Errorf("zone %s: %w", at, err)
		}
	}
	if s.Name, err = name.Parse(strings.TrimSuffix(text, ".") + "."); err != nil {
		return s, fmt.Errorf("%q is neither a Zone object nor a DNS name: %w", text, err)
	}
	return s, r.findZone(ctx, &s)
}

// findZone sets the zone with the longest name that encloses s.Name, if readable.
func (r *room) findZone(ctx context.Context, s *history.Subject) error {
	for up, ok := s.Name, true; ok; up, ok = up.Parent() {
		zone, err := r.client.Search(r.api, s.Namespace).ZoneAt(ctx, up)
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		case zone != nil:
			if s.Zone = zone; up == s.Name {
				s.Name = name.Name{}
			}
			return nil
		}
	}
	return nil
}

// needZone is for commands that read the zone's content.
func needZone(s *history.Subject) error {
	if s.Zone != nil && s.Zone.Status.FQDN == "" {
		return fmt.Errorf("zone %s/%s does not exist; kubectl kubizone log %s/%s prints the changes of a deleted Zone", s.Zone.Namespace,
			s.Zone.Name, s.Zone.Namespace, s.Zone.Name)
	}
	if s.Zone == nil {
		return fmt.Errorf("no zone that you may read has the name %s: ask for the right to get its Zone, and zones/entries", s.Name)
	}
	return nil
}

// narrow takes the whole zone if a tenant's name is the zone's.
func narrow(s *history.Subject, past *history.Past) {
	if s.Zone == nil && past.FQDN == s.Name.String() {
		s.Name = name.Name{}
	}
}

// until reads steps up to a moment; all if zero.
func until(m history.Moment) func(*v1alpha1.HistoryStep) bool {
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
