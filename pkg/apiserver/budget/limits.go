// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

const form = "stored=25%,written=2Mi,clusters=20"

const unlimited = "unlimited"

// DefaultQuota is etcd's quota, in octets, until etcd reports it.
const DefaultQuota = 2 << 30

const DefaultClusters = 20

// Stock limits stored octets, as a percentage of etcd's quota or a number. The zero value is unlimited.
type Stock struct {
	Percent float64
	Octets  int64
}

// Limits are a namespace's limits. Written is octets a second. 0 means unlimited.
type Limits struct {
	Stored   Stock
	Written  int64
	Clusters int64
}

// parseStock parses "25%", "2Gi" or "unlimited", which is the zero Stock.
func parseStock(text string) (Stock, error) {
	if text == unlimited {
		return Stock{}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		// Negated, so that NaN is refused too.
		if err != nil || !(percent > 0 && percent <= 100) {
			return Stock{}, fmt.Errorf("%q is no share of the store's quota: write a percentage above 0%% and up to 100%%", text)
		}
		return Stock{Percent: percent}, nil
	}
	octets, err := parseOctets(text)
	if err != nil {
		return Stock{}, fmt.Errorf("%q is no amount: write a share of the store's quota like 25%%, octets like 2Gi, or %s", text, unlimited)
	}
	return Stock{Octets: octets}, nil
}

func parseRate(text string) (int64, error) {
	if text == unlimited {
		return 0, nil
	}
	octets, err := parseOctets(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no rate: write octets a second like 2Mi, or %s", text, unlimited)
	}
	return octets, nil
}

func parseCount(text string) (int64, error) {
	if text == unlimited {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no number of Bind9Clusters: write one from 1 like %d, or %s", text, DefaultClusters, unlimited)
	}
	return n, nil
}

func parseOctets(text string) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, err
	}
	if q.Sign() <= 0 || q.CmpInt64(math.MaxInt64>>1) > 0 {
		return 0, errors.New("it must be positive")
	}
	return q.Value(), nil
}

// Override returns l with the limits that the annotation kubi.zone/budget of a namespace sets, such as
// "stored=1Gi,written=4Mi,clusters=50".
func (l Limits) Override(text string) (Limits, error) {
	for _, part := range strings.Split(text, ",") {
		what, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch {
		case ok && what == "stored":
			l.Stored, err = parseStock(value)
		case ok && what == "written":
			l.Written, err = parseRate(value)
		case ok && what == "clusters":
			l.Clusters, err = parseCount(value)
		default:
			err = fmt.Errorf("%q: write %s, or some of these", part, form)
		}
		if err != nil {
			return Limits{}, err
		}
	}
	return l, nil
}

func (s Stock) octetsOf(quota int64) int64 {
	if s.Percent > 0 {
		return int64(s.Percent / 100 * float64(quota))
	}
	return s.Octets
}

var Default = Limits{Stored: Stock{Percent: 25}, Written: 2 << 20, Clusters: DefaultClusters}

func (l *Limits) AddFlag(flags *pflag.FlagSet) {
	flags.Func("namespace-budget", "budget of each namespace, as "+form+": stored limits its records and zones in etcd (a share of "+
		"etcd's quota, octets or unlimited), written the octets a second that its writes put into etcd, on each server, clusters its "+
		"Bind9Clusters, each of which can be a class. A missing part keeps stored=25%,written=2Mi,clusters=20; the annotation "+
		"kubi.zone/budget of a Namespace overrides the flag", func(text string) (err error) {
		*l, err = l.Override(text)
		return err
	})
}
