// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unlimited is how an absent bound is written.
const unlimited = "unlimited"

// DefaultQuota is that of an etcd that does not tell its own.
const DefaultQuota = 2 << 30

// DefaultClusters is how many Bind9Clusters a namespace has, if nothing else is said.
const DefaultClusters = 20

// Stock is how much a namespace may have stored: a share of the store's quota or a number of octets. Without either
// it is unlimited.
type Stock struct {
	Percent float64
	Octets  int64
}

// Limits of a namespace. Written is octets a second, Clusters the most Bind9Clusters; 0 for unlimited.
type Limits struct {
	Stored   Stock
	Written  int64
	Clusters int64
}

// ParseStock reads "25%", "2Gi" or "unlimited".
func ParseStock(text string) (Stock, error) {
	if text == unlimited {
		return Stock{}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return Stock{}, fmt.Errorf("%q is no share of the store's quota: write a percentage above 0%% and up to 100%%", text)
		}
		return Stock{Percent: percent}, nil
	}
	octets, err := parseOctets(text)
	if err != nil {
		return Stock{}, fmt.Errorf("%q is no stock: write a share of the store's quota like 25%%, octets like 2Gi, or %s", text, unlimited)
	}
	return Stock{Octets: octets}, nil
}

// ParseRate reads "2Mi" or "unlimited".
func ParseRate(text string) (int64, error) {
	if text == unlimited {
		return 0, nil
	}
	octets, err := parseOctets(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no rate: write octets a second like 2Mi, or %s", text, unlimited)
	}
	return octets, nil
}

// ParseCount reads "20" or "unlimited".
func ParseCount(text string) (int64, error) {
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

// Override is limits with what the annotation of a Namespace says instead: "stored=1Gi,written=4Mi,clusters=50", one or
// several of them.
func (l Limits) Override(text string) (Limits, error) {
	for _, part := range strings.Split(text, ",") {
		what, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch {
		case ok && what == "stored":
			l.Stored, err = ParseStock(value)
		case ok && what == "written":
			l.Written, err = ParseRate(value)
		case ok && what == "clusters":
			l.Clusters, err = ParseCount(value)
		default:
			err = fmt.Errorf("%q: write stored=25%%, written=2Mi or clusters=%d, or several with commas between", part, DefaultClusters)
		}
		if err != nil {
			return Limits{}, err
		}
	}
	return l, nil
}

// of is the stock in octets with that quota of the store; 0: unlimited.
func (s Stock) of(quota int64) int64 {
	if s.Percent > 0 {
		return int64(s.Percent / 100 * float64(quota))
	}
	return s.Octets
}

// Options are the flags as they were written.
type Options struct {
	Stored, Written, Clusters string
	Burst                     time.Duration
}

// NewOptions are the defaults of a server that several tenants share.
func NewOptions() Options {
	return Options{Stored: "25%", Written: "2Mi", Clusters: strconv.Itoa(DefaultClusters), Burst: time.Minute}
}

// Without are the defaults of a server with one user: no budgets.
func Without() Options {
	return Options{Stored: unlimited, Written: unlimited, Clusters: unlimited, Burst: time.Minute}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Stored, "namespace-stored", o.Stored, "how much the records and zones of one namespace may take in etcd: "+
		"a share of etcd's quota like 25%, octets like 2Gi, or unlimited; the annotation kubi.zone/budget of a Namespace overrides it")
	flags.StringVar(&o.Written, "namespace-written", o.Written, "how many octets a second the writes of one namespace may put into etcd, "+
		"on each server: like 2Mi, or unlimited; the annotation kubi.zone/budget of a Namespace overrides it")
	flags.StringVar(&o.Clusters, "namespace-clusters", o.Clusters, "how many Bind9Clusters one namespace may have, "+
		"each of which can be a class: a number, or unlimited; the annotation kubi.zone/budget of a Namespace overrides it")
	flags.DurationVar(&o.Burst, "namespace-written-burst", o.Burst, "how long a namespace that was quiet may write without heeding "+
		"--namespace-written, measured by what that allows meanwhile")
}

// Limits are what the options mean, with everything that is wrong with them.
func (o *Options) Limits() (Limits, []error) {
	var l Limits
	var wrong []error
	var err error
	if l.Stored, err = ParseStock(o.Stored); err != nil {
		wrong = append(wrong, fmt.Errorf("--namespace-stored: %w", err))
	}
	if l.Written, err = ParseRate(o.Written); err != nil {
		wrong = append(wrong, fmt.Errorf("--namespace-written: %w", err))
	}
	if l.Clusters, err = ParseCount(o.Clusters); err != nil {
		wrong = append(wrong, fmt.Errorf("--namespace-clusters: %w", err))
	}
	if o.Burst < time.Second {
		wrong = append(wrong, fmt.Errorf("--namespace-written-burst %v: must be at least a second", o.Burst))
	}
	return l, wrong
}
