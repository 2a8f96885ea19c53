"""Tables of library functions: a row is a function's name and its arguments.

`Catalogue('jax_numpy', jnp)` is an area. `row('clip', normal(4), -1.0, 1.0)` calls jnp.clip; callable arguments are
specifications (arguments.py) and become arguments of the program, all others are static. `row('sum axis', ...)` is
another case of `sum`. `form` defines a program if functions are arguments or results need processing. `skip` states why
a public name has no row. Each case is stored as lowered, and as XLA:CPU has optimised it.
"""
import inspect

import jax
from registry import Area


class Catalogue(Area):
    def __init__(self, name, library, modules=()):
        super().__init__(name, stack=2)
        self.library = library
        self.covered = set()
        self.skipped = {}
        self.modules = modules  # submodules whose functions count as well

    def row(self, name, *args, form=None, x64=False, rule=None, golden=True, **static):
        function = name.split()[0]
        self.covered.add(function)
        leaves, tree = jax.tree.flatten((list(args), static), is_leaf=lambda x: x is None)
        specs = [x for x in leaves if is_specification(x)]
        call = form or self.resolve(function)

        def program(*traced):
            values = iter(traced)
            filled, named = jax.tree.unflatten(tree, [next(values) if is_specification(x) else x for x in leaves])
            return jax.tree.map(raw, call(*filled, **named))
        label = name.replace(' ', '_')
        self.add(label, program, specs, f'{self.library.__name__}.{function}' + (f', {name[len(function) + 1:]}' if ' ' in name else '') + '.',
                 x64=x64, rule=rule, both=True, golden=golden)

    def rows(self, names, *args, **options):
        for name in names.split():
            self.row(name, *args, **options)

    def skip(self, reason, names):
        self.skipped |= dict.fromkeys(names.split(), reason)

    def resolve(self, name):
        found = self.library
        for part in name.split('.'):
            found = getattr(found, part)
        return found

    def missing(self):
        """Returns the public functions that are not in the table."""
        found = set()
        for prefix in ('',) + tuple(m + '.' for m in self.modules):
            library = self.resolve(prefix[:-1]) if prefix else self.library
            for name in dir(library):
                if not name.startswith('_') and callable(getattr(library, name)) and not inspect.isclass(getattr(library, name)):
                    found.add(prefix + name)
        return sorted(found - self.covered - set(self.skipped))


def recomposed_eigh(v, w):
    """Recomposes the matrix, because the signs of eigenvectors are free."""
    return w, (v * w) @ v.conj().T, abs(v)


def recomposed_svd(u, s, vh):
    return s, (u[:, :s.size] * s) @ vh[:s.size], abs(u), abs(vh)


def recomposed_schur(t, z):
    """Recomposes the matrix, because the order of eigenvalues on the diagonal is free."""
    return z @ t @ z.conj().T, z @ z.conj().T


def is_specification(x):
    return callable(x) and not isinstance(x, type)  # types are callable too


def raw(x):
    """Returns random keys as integers."""
    return jax.random.key_data(x) if hasattr(x, 'dtype') and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x
