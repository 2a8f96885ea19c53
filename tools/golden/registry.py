"""The table of cases. An area is a module in `areas/` that contains one `Area` and fills it."""
import dataclasses
import inspect
import os
from typing import Any, Callable


@dataclasses.dataclass
class Case:
    area: str
    name: str
    program: Callable
    args: list            # argument specifications (arguments.py), possibly nested in tuples, lists and dicts
    description: str
    source: str           # areas/<file>.py
    x64: bool = False     # 64-bit types allowed; without it JAX turns them into 32-bit ones
    rule: Any = None      # None: derived by accuracy.py; a rule; or a list of rules, one for each output
    both: bool = False    # stored again in <area>_optimised, as XLA:CPU has optimised it
    golden: bool = True   # False: compared by every_function.py, but not stored


class Area:
    def __init__(self, name, stack=1):
        self.name = name
        self.cases = []
        self.source = os.path.basename(inspect.stack()[stack].filename)

    def add(self, name, program, args, description, **options):
        if any(c.name == name for c in self.cases):
            raise ValueError(f'{self.name}/{name} is there twice')
        if not description.endswith('.'):
            raise ValueError(f'{self.name}/{name}: the description is a sentence')
        self.cases.append(Case(self.name, name, program, args, description, self.source, **options))

    def case(self, *args, **options):
        """A decorator: the function's name and docstring become those of the case."""
        def register(program):
            description = ' '.join(program.__doc__.split())
            self.add(program.__name__, program, list(args), description, **options)
            return program
        return register
