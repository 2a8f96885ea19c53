"""Every function of jax.numpy.fft."""
import jax.numpy as jnp
from arguments import normal
from catalogue import Catalogue

area = Catalogue('jax_numpy_fft', jnp.fft)
row, rows = area.row, area.rows
z, x = normal(8, t='c64'), normal(3, 4)
rows('fft ifft hfft irfft', z)
row('fft odd', normal(7, t='c64'))
row('fft padded', normal(5, t='c64'), 8)
row('fft f64', normal(6, t='f64'), x64=True)
rows('rfft ihfft', normal(8))
row('rfft odd', normal(9))
row('irfft odd', normal(5, t='c64'), 9)
rows('fft2 ifft2 fftn ifftn irfft2 irfftn', normal(3, 4, t='c64'))
rows('rfft2 rfftn fftshift ifftshift', x)
rows('fftfreq rfftfreq', 8)
