// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kubi.zone/kubizone/pkg/terminal"
)

const maxUnasked = 10

// Consent is the flag --yes of a command that may delete many objects.
type Consent struct{ yes bool }

func (c *Consent) AddFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&c.yes, "yes", false, fmt.Sprintf("delete more than %d objects without a question", maxUnasked))
}

// Ask returns nil if the command may delete the objects: at most maxUnasked, with --yes, or after a yes at the
// terminal.
func (c *Consent) Ask(in io.Reader, stderr io.Writer, number int, what string) error {
	if c.yes || number <= maxUnasked {
		return nil
	}
	if !canAsk(in, stderr) {
		return fmt.Errorf("%d %s would be deleted, and there is no terminal to ask at: --yes deletes them", number, what)
	}
	yes, err := askPerson(in, stderr, fmt.Sprintf("Delete %d %s?", number, what))
	if err == nil && !yes {
		err = fmt.Errorf("%d %s were not deleted: the answer was not yes", number, what)
	}
	return err
}

// Confirm returns nil if a person at a terminal answers yes to a question.
func Confirm(in io.Reader, stderr io.Writer, question string) error {
	if !canAsk(in, stderr) {
		return errors.New("there is no terminal to ask at, and nothing was written: --yes does not ask")
	}
	yes, err := askPerson(in, stderr, question)
	if err == nil && !yes {
		err = errors.New("nothing was written: the answer was not yes")
	}
	return err
}

func canAsk(in io.Reader, stderr io.Writer) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && IsTerminal(stderr)
}

func askPerson(in io.Reader, stderr io.Writer, question string) (yes bool, err error) {
	if _, err := terminal.Fprintf(stderr, "%s Type yes: ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, err
	}
	return strings.TrimSpace(answer) == "yes", nil
}
