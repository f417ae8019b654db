// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/provider"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

// providers asks the providers of classes, as the controller does, with the Secrets that this user may read.
type providers struct{ secrets secrets.Reader }

func (p providers) Has(of *v1alpha1.DNSClass) bool {
	return provider.Providers[apiclass.ProviderOf(&of.Spec)] != nil
}

// Compare has the provider compare its content with the zone. A request that fails is a report with the state Failed;
// the error means that the provider has no list, or its Secret is not there.
func (p providers) Compare(ctx context.Context, of *v1alpha1.DNSClass, truth *verify.Zone, report *verify.Report) error {
	asked, _, err := provider.Providers[apiclass.ProviderOf(&of.Spec)](of, func(namespace, name string) (map[string][]byte, error) {
		return p.secrets.Get(ctx, namespace, name)
	})
	switch {
	case errors.Is(err, secrets.ErrNotFound):
		return errors.New("a Secret of the class is not there; --secrets-dir may have it")
	case err != nil:
		return err
	}
	defer asked.Close()
	drift, err := asked.Verify(ctx, delivery.Plan{Zone: truth.FQDN, Serial: truth.Serial, Whole: true,
		All: delivery.GroupRRsets(slices.Values(truth.Entries()))})
	if errors.Is(err, delivery.ErrCannotList) {
		return err
	}
	var failure *delivery.Error
	switch {
	case errors.As(err, &failure) && failure.Detail != "":
		report.State, report.Error = verify.Failed, failure.Error()+"; it says: "+failure.Detail
		return nil
	case err != nil:
		report.State, report.Error = verify.Failed, err.Error()
		return nil
	case report.Serial != uint32(truth.Serial):
		report.State = verify.Behind
	}
	// RRsets for which the provider has no form are missing there, too.
	for _, set := range append(drift.Missing, drift.Unfit...) {
		report.Missing = append(report.Missing, toReport(set))
	}
	for _, set := range drift.Differing {
		report.Differing = append(report.Differing, verify.Difference{Zone: toReport(set)})
	}
	if len(drift.Unfit) > 0 {
		report.Error = fmt.Sprintf("the provider has no form for %d of those that are missing, or refuses them", len(drift.Unfit))
	}
	report.Judge()
	return nil
}

func toReport(set delivery.RRset) verify.RRset {
	return verify.RRset{Name: set.Name.String(), Type: set.Type.String(), TTL: set.TTL, Data: set.Data}
}

// keyring reads the TSIG keys that classes name.
type keyring struct {
	secrets secrets.Reader
	// key is that of --tsig-key-file, nil for none.
	key     *transfer.Key
	known   map[v1alpha1.SecretReference]*transfer.Key
	remarks io.Writer
}

// keyOf returns the TSIG key of a class for a server, nil for none. For an unreadable Secret, the result is the key of
// --tsig-key-file, with a remark.
func (r *keyring) keyOf(ctx context.Context, class string, ref *v1alpha1.SecretReference) *transfer.Key {
	if ref == nil {
		return nil
	}
	if known, ok := r.known[*ref]; ok {
		return known
	}
	key, err := secrets.ReadTSIGKey(*ref, func(namespace, name string) (map[string][]byte, error) {
		return r.secrets.Get(ctx, namespace, name)
	})
	r.known[*ref] = &transfer.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}
	if err != nil {
		next := "asked without it; --secrets-dir or --tsig-key-file may have it"
		if r.key != nil {
			next = "the key of --tsig-key-file signs"
		}
		// Without the path of the file or the API's message, which say no more.
		if errors.Is(err, secrets.ErrNotFound) {
			err = secrets.ErrNotFound
		}
		terminal.Fprintf(r.remarks, "the key of class %s, Secret %s/%s: %v; %s\n", class, ref.Namespace, ref.Name, err, next)
		r.known[*ref] = r.key
	}
	return r.known[*ref]
}
