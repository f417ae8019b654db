// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// DerivedPTR returns the hosts of the PTR that a reverse zone derives at a name. It is nil for a zone without
// spec.reverse, or if the user may not read which entries are of Records.
func (s *Search) DerivedPTR(ctx context.Context, z *v1alpha1.Zone, fqdn name.Name) (hosts []string, err error) {
	if z.Spec.Reverse == nil || z.Status.Serial == 0 {
		return nil, nil
	}
	var page v1alpha1.ZoneEntries
	err = s.API.RESTClient().Get().Namespace(z.Namespace).Resource("zones").Name(z.Name).SubResource("entries").
		Param("name", fqdn.String()).Param("sources", "true").Do(ctx).Into(&page)
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	for _, e := range page.Entries {
		if e.FQDN == fqdn.String() && e.Type == "PTR" && len(e.Sources) == 0 {
			hosts = append(hosts, e.RData)
		}
	}
	return hosts, err
}

// OriginOfPTR describes the source of derived PTR at a name, such as "the A of www.example.org., by spec.reverse of
// Zone dns/reverse (S16.1)".
func OriginOfPTR(hosts []string, fqdn name.Name, z *v1alpha1.Zone) string {
	rrtype := "A"
	if strings.HasSuffix(fqdn.String(), ".ip6.arpa.") {
		rrtype = "AAAA"
	}
	return fmt.Sprintf("the %s of %s, by spec.reverse of Zone %s/%s (S16.1)", rrtype, strings.Join(hosts, ", "), z.Namespace, z.Name)
}
