// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/client/verify"
)

const atOnce = 8

type Clients struct {
	API versioned.Interface
	// Ask asks a name server, like verify.Ask. Nil asks none. Tenants choose the addresses of NS names and of external
	// instances in a Bind9Cluster, so a program that serves other users must restrict the addresses.
	Ask func(context.Context, verify.Question) (*verify.Answer, error)
	// Public restricts questions to public addresses. The resolver, and servers listed in a readable DNSClass, are
	// asked at any address.
	Public bool
	// History reads the last change of a zone, for a note. Optional.
	History *history.Reader
}

// Question asks why a name, a Record or a zone is not served as expected.
type Question struct {
	// Text is a DNS name, an address, record/NAME, zone/NAME, NAMESPACE/NAME or an object's name.
	Text string
	// Type is a record type such as "AAAA" at a DNS name, or "" for all.
	Type string
	// Namespace is the namespace of objects in Text, and of the NameReview. Without the right to list all namespaces,
	// only this namespace is searched.
	Namespace string
	// Resolver is HOST:PORT of a recursive server. With "" only servers of classes are asked.
	Resolver string
}

type inquiry struct {
	Clients
	Question
	search   *find.Search
	chain    Chain
	facts    []*Facts
	subjects []Subject
	zones    map[zoneKey]*ZoneFacts
}

type zoneKey struct{ namespace, name string }

func (i *inquiry) note(format string, args ...any) {
	i.chain.Notes = append(i.chain.Notes, shorten(fmt.Sprintf(format, args...), maxText))
}

func keyTags(ds []string) (tags []string) {
	for _, data := range ds {
		tag, _, _ := strings.Cut(data, " ")
		tags = append(tags, tag)
	}
	return tags
}

func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }
