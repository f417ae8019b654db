// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kubi.zone/kubizone/pkg/terminal"
)

// maxUnasked is the number of objects that a command deletes without a question.
const maxUnasked = 10

// Consent is the flag --yes of a command that may delete many objects.
type Consent struct{ yes bool }

// AddFlag adds the flag.
func (c *Consent) AddFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&c.yes, "yes", false, fmt.Sprintf("delete more than %d objects without a question", maxUnasked))
}

// Ask returns nil if so many objects may be deleted. It asks a person at a terminal.
func (c *Consent) Ask(in io.Reader, stderr io.Writer, number int, what string) error {
	if c.yes || number <= maxUnasked {
		return nil
	}
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || !IsTerminal(stderr) {
		return fmt.Errorf("%d %s would be deleted, and there is no terminal to ask at: --yes deletes them", number, what)
	}
	if _, err := terminal.Fprintf(stderr, "Delete %d %s? Type yes: ", number, what); err != nil {
		return err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return fmt.Errorf("%d %s were not deleted: the answer was not yes", number, what)
	}
	return nil
}
